import ControlInterface
import ControlKit
import Synchronization
import Testing

@testable import ControlClient

@Suite("watchctl output -f")
struct FollowedOutputTests: VerbTesting {
    /// One look: what there is of the output, and the start of the run that wrote it.
    private func reply(_ output: String, started: String, lacksBeginning: Bool = false) -> GetOutput.Reply {
        var operation = Samples.operation
        (operation.result, operation.started) = (nil, started)
        var reply = GetOutput.Reply(operation: operation, attempt: operation.attempt)
        (reply.output, reply.outputBytes) = (output, output.utf8.count)
        reply.lacksBeginning = lacksBeginning ? true : nil
        return reply
    }

    /// The last of them ends the operation.
    private func follow(_ looks: [GetOutput.Reply]) throws -> VerbOutcome {
        var looks = looks
        looks[looks.count - 1].operation?.result = .done
        let left = Mutex(looks.map { Sample.json($0) })
        return try run(["output", "-f", "4711"], isTerminal: false) { _ in
            .reply(left.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] })
        }
    }

    /// As under systemd, which keeps the socket: no connection fails.
    @Test func whatAnEarlierWatchdHasReadIsNotCounted() throws {
        let outcome = try follow([
            reply("1\n2\n3\n", started: "a"),
            reply("4\n5\n6\n7\n", started: "a", lacksBeginning: true),
            reply("4\n5\n6\n7\n8\n", started: "a", lacksBeginning: true),
            reply("9\n", started: "a", lacksBeginning: true),
        ])
        #expect(outcome.output == "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
        let remark = "watchctl: \(RunText.lacksBeginning)\n"
        #expect(outcome.remarks == remark + remark)
    }

    @Test func aRunThatComesOnceMoreIsShownFromItsBeginning() throws {
        let outcome = try follow([
            reply("1\n2\n3\n", started: "a"), reply("1\n2\n3\n4\n", started: "b"), reply("1\n2\n3\n4\n", started: "b"),
        ])
        #expect(outcome.output == "1\n2\n3\n1\n2\n3\n4\n")
        #expect(outcome.remarks == "watchctl: it runs again, from its beginning\n")
    }

    @Test func anOperationThatWroteNothingSaysSo() throws {
        let silent = try follow([reply("", started: "a")])
        #expect(silent.output.isEmpty && silent.remarks.hasPrefix("watchctl: It wrote nothing") && silent.code == .done)
        var cancelled = Samples.operation
        (cancelled.result, cancelled.attempt, cancelled.started) = (.cancelled, 0, nil)
        let reply = Sample.json(GetOutput.Reply(operation: cancelled))
        let outcome = try run(["output", "-f", "4711"], isTerminal: false) { _ in .reply(reply) }
        #expect(outcome.failure?.message.hasSuffix("ended before its start: cancelled") == true)
        #expect(outcome.failure?.exitCode == .failed)
    }
}
