import ControlInterface
import ControlKit
import LinuxSystem
import Synchronization
import Testing
import Varlink

@testable import ControlClient

@Suite("run --queue", .serialized)
struct SubmitVerbTests: VerbTesting {
    /// What the daemon is asked for.
    private func asked(_ arguments: String..., reply: Submit.Reply = .init(operation: 7)) throws -> (
        Submit.Parameters?, VerbOutcome
    ) {
        let box = Box()
        let outcome = try run(["run"] + arguments) { call in
            if call.name == "Submit" { box.value.withLock { $0 = try? call.parameters() } }
            var detail = Samples.detail
            (detail.output, detail.outputBase64, detail.summary.foundAgain) = ("said\n", nil, nil)
            return .reply(
                call.name == "Submit" ? Sample.json(reply) : Sample.json(GetOperation.Reply(operation: detail)))
        }
        return (box.value.withLock { $0 }, outcome)
    }

    private final class Box: Sendable { let value = Mutex<Submit.Parameters?>(nil) }

    @Test func theCommandGoesAsItIsWithWhereItWasTyped() throws {
        let (parameters, outcome) = try asked("--queue", "q", "ls", "-l", "--wait", "a b")
        #expect(parameters?.queue == "q" && parameters?.command == ["ls", "-l", "--wait", "a b"])
        #expect(parameters?.wait == nil && parameters?.base64 == nil)
        #expect(try parameters?.directory == String(decoding: Linux.readlink("/proc/self/cwd"), as: UTF8.self))
        #expect(parameters?.umask == Linux.fileModeMask.map { Int($0) })
        #expect(parameters?.environment?.first?.hasPrefix("PATH=") == true)
        #expect(outcome.output == "7\n" && outcome.code == .done)
    }

    @Test func eachWishIsPassedOn() throws {
        let (parameters, _) = try asked(
            "--queue=q", "--key", "k", "--after", "3", "--after", "4, 5", "--in", "2h", "--retry", "2", "--timeout",
            "9s",
            "--name", "n", "--env", "A=1=2", "--env", "PATH", "--barrier", "--priority", "high", "--", "--odd", "x")
        #expect(parameters?.command == ["--odd", "x"] && parameters?.key == "k" && parameters?.after == [3, 4, 5])
        #expect(parameters?.inUsec == 7_200_000_000 && parameters?.retry == 2 && parameters?.timeoutUsec == 9_000_000)
        #expect(parameters?.name == "n" && parameters?.barrier == true && parameters?.priority == "high")
        #expect(parameters?.environment?.dropFirst().first == "A=1=2")
        let (timed, _) = try asked("--queue", "q", "--at", "2026-11-21 08:00", "x")
        #expect(timed?.at == "2026-11-21T08:00:00.000000Z")
    }

    @Test(arguments: [["--retry", "-1"], ["--retry", "1000001"], ["--priority", "loud"]])
    func aNumberOrLevelThatThereIsNotIsWrongUsage(wish: [String]) throws {
        let (parameters, outcome) = try asked("--queue", "q", wish[0], wish[1], "x")
        #expect(parameters == nil && outcome.failure?.exitCode == .usage, "\(outcome)")
    }

    @Test func controlCharactersAreSentAsBase64() throws {
        let (parameters, _) = try asked("--queue", "q", "x", "\u{1}\n")
        #expect(parameters?.base64 == true && parameters?.command == ["eA==", "AQo="])
    }

    @Test func whoWaitsEndsAsItEnds() throws {
        let reply = Submit.Reply(operation: 7, result: .failed, exitStatus: 12)
        let (parameters, outcome) = try asked("--wait", "--queue", "q", "x", reply: reply)
        // It learns the number first, and waits by it.
        #expect(parameters?.wait == nil && outcome.code == ExitCode(rawValue: 12))
        #expect(outcome.output == "said\n" && outcome.remarks == "operation 7: FAILED exit 12\n")
        // Its exit status does not say why.
        let late = Submit.Reply(operation: 7, result: .failed, exitStatus: 0, reason: "timed out after 1s")
        let ended = try asked("--wait", "--queue", "q", "x", reply: late).1
        #expect(ended.code == .failed && ended.remarks == "operation 7: FAILED timed out after 1s\n")
        let dropped = try asked("--queue", "q", "x", reply: .init(result: .dropped, reason: "full")).1
        #expect(dropped.code == .failed && dropped.output.contains("dropped"))
    }

    @Test(
        arguments: [
            (["--queue", "q"], "needs"), (["--key", "k", "h"], "--key is for a command"),
            (["--queue", "q", "--env", "1=2", "x"], "NAME=VALUE"),
            (["--queue", "q", "--env", "NOT_SET_X", "x"], "not set"),
            (["--queue", "q", "--after", "x", "x"], "number of an operation"),
            (["--queue", "q", "--after", "", "x"], "number of an operation"),
            (["--queue", "q", "--after", "1,", "x"], "number of an operation"),
            (["--queue", "q", "--after", "1,,2", "x"], "number of an operation"),
            (["--queue", "q", "--in", "infinity", "x"], "span that ends"),
            (["--queue", "q", "--at", "infinity", "x"], "not a time"),
            (["--queue", "q", "--at", "2h", "x"], "not a time"),
            (["--queue", "q", "--at", "2020-01-01", "x"], "passed"),
            (["--queue", "q", "--at", "23:00", "--in", "1h", "x"], "exclude"),
            (["--queue", "q", "--user", "no-such-user", "x"], "no user"),
        ]) func whatIsWrongIsSaid(arguments: [String], part: String) throws
    {
        let failure = try run(["run"] + arguments) { _ in .nothing }.failure
        #expect(
            failure?.exitCode == .usage && failure?.message.contains(part) == true, "\(String(describing: failure))")
    }

    @Test func whatIsTooLongIsNotSent() throws {
        let failure = try run(["run", "--queue", "q", String(repeating: "x", count: Submit.sizeLimit + 1)]) { _ in
            .nothing
        }.failure
        #expect(failure?.message.contains("\(Submit.sizeLimit)") == true)
    }
}
