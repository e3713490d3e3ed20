import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import Engine
@testable import Handlers

@Suite("Conditions of runs", .ownThread) struct ConditionRunTests {
    /// Conditions that ask these scripts.
    private func asking(_ scripts: [String], paths: [PathCondition] = []) -> RunConditions {
        RunConditions(
            paths: paths,
            commands: scripts.map { script in
                Command(words: ["/bin/sh", "-c", script].map { Command.Word.template(Template(literal: $0)) })
            })
    }

    private func request(
        _ operation: UInt64, _ conditions: RunConditions, _ action: HandlerAction? = nil
    ) -> StartRequest {
        var definition = HandlerDefinition(name: "h", action: action ?? .exec(asking(["echo did it"]).commands))
        definition.conditions = conditions
        return StartRequest(
            run: RunID(operation: operation, attempt: 1), definition: SharedDefinition(definition), queue: "q",
            qos: .default, environment: [], origin: .source(SourceID(.custom, "c")),
            events: [Event(id: 1, time: 0, fact: .custom(CustomFact(data: 7)))])
    }

    /// What became of each: `done`, `skipped: …`, `failed: …`.
    private func ends(_ requests: [StartRequest]) throws -> [String] {
        var ends: [String] = []
        try Rim.with { rim in
            for request in requests { rim.start(request) }
            try wait(for: "all to end") {
                rim.ended.count + rim.skipped.count + rim.notStarted.count == requests.count
            }
            ends = requests.map { request in
                if let reason = rim.skipped[request.run] { return "skipped: \(reason)" }
                if let reason = rim.notStarted[request.run] { return "not started: \(reason)" }
                guard let end = rim.ended[request.run] else { return "?" }
                return end.exit == .exited(0)
                    ? String(decoding: end.output, as: UTF8.self) : "failed: \(end.reason ?? "")"
            }
        }
        return ends
    }

    @Test func aPathMustExistOrMustNot() throws {
        try Folder.with { folder in
            try folder.write("here", "")
            try Linux.symlink(folder["dangling"], to: folder["nowhere"])
            func condition(_ name: String, _ isNegated: Bool = false) -> PathCondition {
                PathCondition(path: Array(folder[name].utf8), isNegated: isNegated)
            }
            let paths = [
                [condition("here")], [condition("gone", true)], [condition("gone")], [condition("here", true)],
                [condition("here"), condition("gone")], [condition("dangling")], [condition("here/below")],
            ]
            let requests = paths.enumerated().map { request(UInt64($0 + 1), RunConditions(paths: $1)) }
            func skipped(_ sign: String, _ name: String) -> String {
                "skipped: ConditionPathExists=\(sign)\(folder[name]) does not hold"
            }
            #expect(
                try ends(requests) == [
                    "did it\n", "did it\n", skipped("", "gone"), skipped("!", "here"), skipped("", "gone"),
                    skipped("", "dangling"), skipped("", "here/below"),
                ])
        }
    }

    @Test func aPathThatCannotBeLookedAtIsAFailure() throws {
        let path = Array("/".utf8) + Array(repeating: UInt8(ascii: "a"), count: 300)
        let end = try ends([request(1, RunConditions(paths: [PathCondition(path: path, isNegated: true)]))])
        #expect(end[0].hasPrefix("not started: ") && end[0].hasSuffix("(ENAMETOOLONG)"), "\(end)")
    }

    @Test func anExitOf1To254SkipsAndAnythingElseFails() throws {
        let scripts = ["exit 0", "exit 1", "exit 75", "exit 254", "exit 255", "kill -9 $$"]
        let requests = scripts.enumerated().map { request(UInt64($0 + 1), asking([$1])) }
        func skipped(_ exit: Int) -> String { "skipped: ExecCondition=/bin/sh does not hold: exit \(exit)" }
        #expect(
            try ends(requests) == [
                "did it\n", skipped(1), skipped(75), skipped(254), "failed: ExecCondition=/bin/sh failed: exit 255",
                "failed: ExecCondition=/bin/sh failed: SIGKILL",
            ])
    }

    @Test func allOfThemMustHoldPathsFirst() throws {
        try Folder.with { folder in
            let touch = "echo $WATCHD_DATA >>\(folder["asked"])"
            let conditions = asking(
                [touch, touch, "exit 3", touch],
                paths: [PathCondition(path: Array(folder["asked"].utf8), isNegated: true)])
            let asked = try ends([request(1, conditions)])
            #expect(asked == ["skipped: ExecCondition=/bin/sh does not hold: exit 3"])
            #expect(folder.text("asked") == "7\n7\n")
            let again = try ends([request(2, conditions)])
            #expect(again[0].hasPrefix("skipped: ConditionPathExists=!"))
            #expect(folder.text("asked") == "7\n7\n", "no command is asked then")
        }
    }

    @Test func aHandlerWithoutACommandOnlyAsks() throws {
        let log = HandlerAction.log(Template(literal: "x"))
        let root = RunConditions(paths: [PathCondition(path: Array("/".utf8))])
        #expect(
            try ends([
                request(1, root, log), request(2, asking(["exit 0"]), log),
                request(3, asking(["exit 9"]), log),
            ]) == ["", "", "skipped: ExecCondition=/bin/sh does not hold: exit 9"])
    }
}
