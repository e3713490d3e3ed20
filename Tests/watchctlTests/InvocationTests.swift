import Testing

@testable import ControlClient

@Suite("Command line")
struct InvocationTests {
    private func parse(_ line: String) throws(Failure) -> Invocation {
        try Invocation(arguments: line.split(separator: " ").map(String.init))
    }

    private func failure(_ line: String) -> Failure? {
        do throws(Failure) {
            _ = try parse(line)
            return nil
        } catch {
            return error
        }
    }

    @Test func withoutAVerbItIsStatus() throws {
        #expect(try parse("").verb.name == "status")
        #expect(try parse("--json").verb.name == "status")
    }

    @Test func optionsStandBeforeOrAfterTheVerb() throws {
        for line in [
            "--json --for 5min suspend images --reason=upgrade", "suspend --for=5min --json images --reason upgrade",
            "suspend images --json --for 5min --reason upgrade",
        ] {
            let invocation = try parse(line)
            #expect(invocation.verb.name == "suspend")
            #expect(invocation.operands == ["images"])
            #expect(invocation.options == [.json: "", .duration: "5min", .reason: "upgrade"])
        }
    }

    @Test func twoDashesEndTheOptions() throws {
        let invocation = try parse("run -- --wait -x")
        #expect(invocation.operands == ["--wait", "-x"])
        #expect(invocation.options.isEmpty)
    }

    @Test func theWordsOfACommandAreItsOwn() throws {
        for line in ["group run deploy make -j4 --json -- x", "group run deploy -- make -j4 --json -- x"] {
            let invocation = try parse(line)
            #expect(invocation.operands == ["run", "deploy", "make", "-j4", "--json", "--", "x"])
            #expect(invocation.options.isEmpty)
        }
        for line in ["acquire --timeout 5s gpu:2 make -j4 --json", "acquire gpu:2 --timeout 5s -- make -j4 --json"] {
            let invocation = try parse(line)
            #expect(invocation.operands == ["gpu:2", "make", "-j4", "--json"])
            #expect(invocation.options == [.timeout: "5s"])
        }
        for line in [
            "run --queue q ls -- -x", "run --queue q -- ls -- -x", "acquire q ls -- -x", "acquire q -- ls -- -x",
        ] {
            #expect(try parse(line).operands.suffix(3) == ["ls", "--", "-x"], "\(line)")
        }
        #expect(try parse("group --json run deploy make").has(.json))
    }

    @Test func aValueMayLookLikeAnOption() throws {
        #expect(try parse("emit poke --data -5").number(.data) == -5)
        #expect(try parse("run x -").operands == ["x", "-"])
    }

    @Test(
        arguments: [
            ("stauts", "there is no verb “stauts”", "did you mean “status”?"),
            ("xyzzy", "there is no verb “xyzzy”", "watchctl --help shows what there is"),
            ("--jsn", "there is no option “--jsn”", "did you mean “--json”?"),
            ("-x", "there is no option “-x”", "watchctl --help shows what there is"),
            ("status --wait", "“status” has no option --wait", "usage: watchctl status [NAME…]"),
            (
                "emit", "“emit” needs NAME",
                "usage: watchctl emit [--data N] [--payload JSON] [--wait] [--at TIME] [--in SPAN] [--after ID|SPAN] NAME"
            ),
            ("show 1 b", "“show” has no use for “b”", "usage: watchctl show ID"),
            ("emit a --data", "--data needs a value: --data N", nil),
            ("status --socket=", "--socket needs a value: --socket PATH", nil),
            ("--json=1", "--json takes no value", nil),
        ] as [(String, String, String?)])
    func mistakesAreExplained(line: String, message: String, help: String?) {
        #expect(failure(line) == .usage(message, help: help))
    }

    @Test(
        arguments: [
            ("stat", "status"), ("top", "status"), ("logs", "output"), ("pause", "suspend"), ("list", "sources"),
            ("why", "explain"), ("ls", "sources"), ("ps", "operations"), ("tail", "follow"), ("hstory", "history"),
        ])
    func anotherProgramsVerbIsUnderstood(verb: String, meant: String) {
        #expect(failure(verb)?.help == "did you mean “\(meant)”?")
    }

    @Test(arguments: ["stp", "stopp", "cancle", "forgt", "kill", "rm", "delete", "restrt", "terminate"])
    func noVerbThatDestroysIsSuggested(verb: String) {
        let destroying = Verb.all.filter(\.destroys).map(\.name)
        #expect(destroying == ["cancel", "forget", "stop", "restart"])
        for name in destroying { #expect(failure(verb)?.help?.contains("“\(name)”") == false) }
    }

    @Test func numbersAreChecked() throws {
        let invocation = try parse("emit a --data 1x")
        #expect(throws: Failure.usage("--data takes a whole number, not “1x”")) { try invocation.number(.data) }
    }

    @Test func helpNeedsNothingElse() throws {
        #expect(try parse("emit --help").has(.help))
        #expect(try parse("-h").has(.help))
    }

    @Test func everyVerbIsInTheHelp() {
        for verb in Verb.all { #expect(Verb.helpText().contains("  \(verb.synopsis)")) }
        for verb in Verb.all {
            for line in verb.helpText().split(separator: "\n") { #expect(line.count <= 120, "\(line)") }
        }
        for line in Verb.helpText().split(separator: "\n") { #expect(line.count <= 120) }
    }
}
