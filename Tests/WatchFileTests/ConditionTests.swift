import Testing
import WatchFile

@Suite("ExecCondition=, ConditionPathExists=")
struct ConditionTests {
    private func conditions(_ lines: String) -> RunConditions? {
        load("[Handler h]\n\(lines)\nExec=/bin/true\n").configuration?.handlers.first?.conditions
    }

    @Test func bothAreListsInTheirOrder() {
        let found = conditions(
            "ExecCondition=/bin/a b\nConditionPathExists=/x//y/\nExecCondition=test -e %p\nConditionPathExists=!/z")
        #expect(
            found?.paths == [
                PathCondition(path: Array("/x/y".utf8)), PathCondition(path: Array("/z".utf8), isNegated: true),
            ])
        #expect(found?.commands.count == 2 && found?.commands[0].words.count == 2)
        #expect(conditions("ConditionPathExists=/a\nConditionPathExists=")?.isEmpty == true)
        #expect(conditions("ConditionPathExists=! /z")?.paths.first?.isNegated == true)
        #expect(conditions(#"ConditionPathExists=/a\xff"#)?.paths == [PathCondition(path: [0x2F, 0x61, 0xFF])])
    }

    @Test(arguments: [
        ("ConditionPathExists=a", "ConditionPathExists= needs an absolute path"),
        ("ConditionPathExists=!", "ConditionPathExists=! needs a path"),
        ("ConditionPathExists=|/a", "the prefix | of ConditionPathExists= is not supported by this version"),
        ("ExecCondition=-/bin/a", "the prefix - of ExecCondition= is not supported by this version"),
    ])
    func whatCannotHoldIsRefused(lines: String, sentence: String) {
        let found = load("[Handler h]\n\(lines)\nExec=/bin/true\n").diagnostics
        #expect(found.map(\.sentence) == [sentence])
    }

    @Test func theRulesOfCommandsHoldForConditionsToo() {
        let path = "[Path p]\nPath=/p\nHandler=h\n"
        let several = problems(in: path + "[Handler h]\nExecCondition=/bin/test -e %p\nExec=/bin/true %@\n")
        #expect(several.count == 1 && several[0].contains("may carry several"), "\(several)")
        let code = problems(
            in: path + "Key=%p\n[Handler h]\nExecCondition=/bin/sh -c 'test %p'\nExec=/bin/true\n")
        #expect(code.count == 1 && code[0].contains("must never become code"), "\(code)")
    }
}
