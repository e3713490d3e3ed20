import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

@Suite("Conditions, end to end", .ownThread) struct ConditionTests {
    private static let text = """
        [Custom poke]
        Exec=@/record %{data}
        ConditionPathExists=@/there
        ConditionPathExists=!@/not-there
        ExecCondition=/bin/sh -c 'test "$WATCHD_DATA" != 13'
        OnSuccess=done
        OnFailure=never
        OnFinished=end
        [Handler done]
        Exec=@/record done
        [Handler never]
        Exec=@/record never
        [Handler end]
        Exec=@/record end
        [Custom say]
        Log=said
        ConditionPathExists=@/there
        """

    @Test func whatDoesNotHoldEndsSkippedAndSaysWhy() throws {
        try Watchd.run(Self.text) { watchd in
            func end(_ id: Int) throws -> OperationSummary {
                try watchd.waitUntilIdle()
                return try watchd.operation(id).summary
            }
            try watchd.emit("poke", data: 1)
            let skipped = try end(1)
            #expect(skipped.result == .skipped && skipped.reason?.hasPrefix("ConditionPathExists=") == true)

            func recorded() throws -> [String] {
                try watchd.waitUntilIdle()
                return try Recorded.all(in: watchd.folder).map { String(decoding: $0.arguments[0], as: UTF8.self) }
                    .sorted()
            }
            #expect(try recorded() == ["end"], "of the others it is no end")

            // Operation 2 was told of the end of 1, and so on.
            try watchd.folder.write("there", "")
            try watchd.emit("poke", data: 2)
            #expect(try end(3).result == .done)
            #expect(try recorded() == ["2", "done", "end", "end"])

            try watchd.emit("poke", data: 13)
            let asked = try end(6)
            #expect(asked.result == .skipped && asked.reason == "ExecCondition=/bin/sh does not hold: exit 1")
            #expect(try recorded() == ["2", "done", "end", "end", "end"])
            try watchd.emit("say", data: 1)
            #expect(try end(8).result == .done)

            try Linux.unlink(watchd.folder["there"])
            let run = try watchd.call(Run.self, .init(name: "poke", wait: true))
            #expect(run.result == .skipped && run.reason?.contains("does not hold") == true, "a run by hand asks too")
            try watchd.waitForLog("does not hold")
            let history = try watchd.call(ListHistory.self, .init())
            #expect(history.operations.filter { $0.result == .skipped }.count == 3)
        }
    }
}
