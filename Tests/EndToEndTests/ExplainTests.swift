import ControlInterface
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Why something waits, or what became of it.
@Suite("Explain, end to end", .ownThread) struct ExplainTests {
    private static let text = """
        [Queue wide]
        Type=concurrent
        Width=4
        [Custom slow]
        Exec=/bin/sh -c 'read -r x <@/gate'
        Queue=wide
        Key=none
        Coalesce=no
        [Custom alone]
        Log=alone
        Queue=wide
        Barrier=yes
        [Custom flaky]
        Exec=/bin/sh -c '[ "$WATCHD_ATTEMPT" = 2 ] || exit 3'
        Retry=1
        RetrySec=10ms
        [Custom hopeless]
        Exec=/bin/false
        Retry=60
        RetrySec=1ms
        RetryMaxSec=1ms
        [Semaphore one]
        Value=1
        [Custom takes]
        Exec=/bin/sh -c 'read -r x <@/gate'
        Queue=wide
        Acquire=one
        Key=none
        Coalesce=no
        [Group takers]
        Members=takes
        Log=empty
        [Custom skips]
        Exec=/bin/sh -c 'read -r x <@/gate'
        Overlap=skip

        """

    private func withWatchd(_ body: (Watchd) throws -> Void) throws {
        try Watchd.run(Self.text, settings: "DrainSec=1", prepare: { try Linux.mkfifo($0["gate"]) }, body: body)
    }

    private func line(of text: String, in watchd: Watchd) throws -> Int {
        try #require(watchd.folder.lines("watch").firstIndex(of: text)) + 1
    }

    @Test func aSemaphoreThatIsTakenNamesWhoHasItAndWhoWaits() throws {
        try withWatchd { watchd in
            func steps() throws -> [Explain.Step] {
                try watchd.call(Explain.self, .init(name: "semaphore/one")).steps
            }
            #expect(try steps().map(\.code) == ["idle"])
            try watchd.emit("takes")
            #expect(try steps().map(\.code) == ["full", "running"])
            #expect(try steps().map(\.operation) == [nil, 1])
            try watchd.emit("takes")
            #expect(try steps().map(\.code) == ["full", "running", "semaphore"])
            #expect(try steps().first?.sentence == "0 free of Value=1, 1 operation in line")
            #expect(try steps().last?.operation == 2)
        }
    }

    @Test func aSuspendedGroupSaysSo() throws {
        try withWatchd { watchd in
            try watchd.suspend("group/takers")
            let steps = try watchd.call(Explain.self, .init(name: "group/takers")).steps
            #expect(steps.map(\.code) == ["suspended", "idle"])
            #expect(steps.first?.sentence.hasPrefix("suspended by ") == true)
        }
    }

    @Test func aBarrierSaysWhatIsBeforeItAndWhereThatIsDecided() throws {
        try withWatchd { watchd in
            for source in ["slow", "slow", "alone", "slow"] { try watchd.emit(source) }
            let waiting = try watchd.status().waiting
            #expect(waiting.map(\.handler) == ["alone", "slow"])
            #expect(waiting.map(\.waitReason) == ["barrier", "barrier"])
            #expect(waiting.first?.waitingFor == "barrier: 2 operations before it")
            let barrier = try #require(waiting.first?.id)
            let reply = try watchd.call(Explain.self, .init(id: barrier))
            #expect(reply.object == "handler/alone")
            #expect(reply.operation?.id == barrier)
            #expect(reply.steps.first?.code == "submitted")
            let now = try #require(reply.steps.last)
            #expect((now.code, now.time) == ("barrier", nil))
            #expect(now.section == "handler/alone")
            #expect(now.file == watchd.folder["watch"])
            #expect(now.line == (try line(of: "[Custom alone]", in: watchd)))
            let behind = try watchd.call(Explain.self, .init(id: try #require(waiting.last?.id)))
            #expect(behind.steps.last?.other == barrier)

            let queue = try watchd.call(Explain.self, .init(name: "wide"))
            #expect(queue.object == "queue/wide")
            #expect(queue.steps.filter { $0.time == nil }.map(\.code) == ["running", "running", "barrier", "barrier"])
            let screen = try watchd.control("explain", "wide").text
            #expect(screen.contains("watch:\(try line(of: "[Queue wide]", in: watchd))"), "\(screen)")
        }
    }

    @Test func failedAttemptsAreRunsOfTheOperation() throws {
        try withWatchd { watchd in
            try watchd.emit("flaky")
            let ended = try watchd.waitForEnded(1, of: "flaky")
            #expect(ended.first?.result == .done)
            #expect(ended.first?.attempt == 2)
            let id = try #require(ended.first?.id)
            let runs = try watchd.operation(id).runs
            #expect(runs.map(\.attempt) == [1, 2])
            #expect(runs.map(\.result) == [.failed, .done])
            #expect(runs.first?.exitStatus == 3)
            #expect(runs.allSatisfy { $0.ended != nil })
            let steps = try watchd.call(Explain.self, .init(id: id)).steps
            #expect(steps.map(\.code) == ["submitted", "started", "retried", "started", "ended"])
            #expect(steps.first { $0.code == "retried" }?.sentence.contains("exit 3") == true)
            try watchd.waitForLog("flaky \(id)  try 1 failed")
        }
    }

    @Test func everyAttemptIsRemembered() throws {
        try withWatchd { watchd in
            try watchd.emit("hopeless")
            let ended = try #require(try watchd.waitForEnded(1, of: "hopeless").first)
            #expect((ended.result, ended.attempt) == (.failed, 61))
            #expect(try watchd.operation(ended.id).runs.map(\.attempt) == Array(1...61))
        }
    }

    @Test func whatNeverRanIsExplainedByItsHandler() throws {
        try withWatchd { watchd in
            try watchd.emit("skips")
            try watchd.emit("skips")
            #expect(try watchd.handler("skips").counters.skipped == 1)
            let steps = try watchd.call(Explain.self, .init(name: "handler/skips")).steps
            let skipped = try #require(steps.first { $0.code == "skipped" })
            #expect(skipped.sentence.contains("Overlap=skip"), "\(skipped)")
        }
    }

    @Test func namesAreResolvedAsElsewhere() throws {
        try withWatchd { watchd in
            let objects = ["wide": "queue/wide", "queue/high": "queue/user-initiated", "slow": "handler/slow"]
            for (name, object) in objects {
                #expect(try watchd.call(Explain.self, .init(name: name)).object == object)
            }
            let misspelt = try watchd.error(Explain.self, .init(name: "wdie"))
            #expect(misspelt?.parameters["nearest"] == .string("wide"))
            let unknown = try watchd.error(Explain.self, .init(id: 999))
            #expect(unknown?.name == "io.watchd.Manager.NoSuchOperation")
            #expect(try watchd.control("explain", "999").code == 1)
        }
    }
}
