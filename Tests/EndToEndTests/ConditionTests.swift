import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

@Suite("Conditions, end to end") struct ConditionTests {
    private static let text = """
        [Custom poke]
        Exec=@/record $WATCHD_DATA
        ConditionPathExists=@/there
        ConditionPathExists=!@/not-there
        ExecCondition=/bin/sh -c 'test "$WATCHD_DATA" != 13'
        OnFinished=never
        [Handler never]
        Exec=@/record never
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

            try watchd.folder.write("there", "")
            try watchd.emit("poke", data: 2)
            #expect(try watchd.waitForRuns(1).count == 1)
            #expect(try end(2).result == .done)
            #expect(try Recorded.all(in: watchd.folder).count == 2, "OnFinished= tells of this one only")

            try watchd.emit("poke", data: 13)
            let asked = try end(4)
            #expect(asked.result == .skipped && asked.reason == "ExecCondition=/bin/sh does not hold: exit 1")
            try watchd.emit("say", data: 1)
            #expect(try end(5).result == .done)

            try Linux.unlink(watchd.folder["there"])
            let run = try watchd.call(Run.self, .init(name: "poke", wait: true))
            #expect(run.result == .skipped && run.reason?.contains("does not hold") == true, "a run by hand asks too")
            #expect(watchd.logText.contains("does not hold"))
            let history = try watchd.call(ListHistory.self, .init())
            #expect(history.operations.filter { $0.result == .skipped }.count == 3)
        }
    }
}
