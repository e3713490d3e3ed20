import ControlInterface
import ProgramKit
import Testing

/// A retry that never runs: what had failed is not dealt with.
@Suite("Retries that do not run", .ownThread) struct UntriedTests {
    private static let text = """
        [Queue line]
        [Custom job]
        Queue=line
        Key=none
        Coalesce=no
        Exec=/bin/false

        """

    private func failed(_ lives: Lives) throws -> [Int] {
        try lives.watchd.call(ListHistory.self, .init(unsettled: true)).operations.map(\.id)
    }

    private func retry(_ lives: Lives) throws -> Int {
        let retried = try lives.watchd.call(Retry.self, .init(name: "job")).operations
        #expect(retried.map(\.failed) == [1])
        #expect(try failed(lives) == [])
        return try #require(retried.first?.operation)
    }

    @Test func theFailureComesBack() throws {
        try Lives.run(Self.text) { lives in
            try lives.watchd.emit("job")
            try wait(for: "it to fail") { try failed(lives) == [1] }
            try lives.watchd.suspend("line")
            try lives.watchd.call(Cancel.self, .init(id: try retry(lives)))
            try wait(for: "it after a cancel") { try failed(lives) == [1] }
            _ = try retry(lives)
            lives.stop()
            try lives.start()
            try wait(for: "it after a stop") { try failed(lives) == [1] }
            _ = try retry(lives)
            lives.kill()
            try lives.start()
            try wait(for: "it after a kill") { try failed(lives) == [1] }
            let status = try lives.watchd.status()
            #expect(status.problems.contains { $0.object == "handler/job" })
            let last = try retry(lives)
            try lives.watchd.resume("line")
            try wait(for: "the retry to fail") { try failed(lives) == [last] }
        }
    }

    @Test func whatOnceHasFulfilledIsRefused() throws {
        try Watchd.run("[Custom job]\nOnce=boot\nExec=/usr/bin/test -e @/ok\n") { watchd in
            try watchd.emit("job")
            try watchd.waitForEnded(1, of: "job")
            try watchd.folder.write("ok", "")
            try watchd.emit("job")
            try watchd.waitForEnded(2, of: "job")
            let error = try #require(try watchd.error(Retry.self, .init(id: 1)))
            guard case .refused(let reason)? = ManagerError(error) else {
                Issue.record("\(error)")
                return
            }
            #expect(reason.hasPrefix("handler job has run, and Once= lets no event start it again"))
            let problem = try watchd.status().problems.first { $0.object == "handler/job" }
            #expect(problem?.action == "no event starts it again (Once=)")
            #expect(problem?.help == "watchctl output 1 · watchctl forget 1")
        }
    }
}
