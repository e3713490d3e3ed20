import ControlInterface
import ControlKit
import Synchronization
import Testing
import Varlink

@testable import ControlClient

@Suite("Verbs with several names")
struct SeveralNamesTests: VerbTesting {
    /// The answer to the question which names there are; `nil`: it is another call.
    private static func known(_ call: Call, _ names: [String]) -> SampleServer.Answer? {
        guard call.name == "ListNames", let asked = try? call.parameters(as: ListNames.Parameters.self) else {
            return nil
        }
        let prefix = asked.prefix ?? ""
        return .reply(Sample.json(ListNames.Reply(names: names.map { "any/\($0)" }.filter { $0.hasSuffix(prefix) })))
    }

    @Test(
        arguments: [
            (["suspend", "a", "b"], "queue/a is suspended\nqueue/b is suspended\n"),
            (["resume", "a", "b"], "queue/a goes on\nqueue/b goes on\n"),
            (["cancel", "17", "b"], "1 operation cancelled\n1 operation cancelled\n"),
        ])
    func eachNameIsACall(arguments: [String], output: String) throws {
        let outcome = try run(arguments) { call in
            if let answer = Self.known(call, ["a", "b"]) { return answer }
            switch call.name {
            case "GetOperation": return .reply(Sample.json(GetOperation.Reply(operation: Samples.detail)))
            case "Suspend":
                let name = (try? call.parameters(as: Suspend.Parameters.self))?.name ?? ""
                return .reply(Sample.json(SuspensionCount(name: "queue/\(name)", suspended: 1)))
            case "Resume":
                let name = (try? call.parameters(as: Resume.Parameters.self))?.name ?? ""
                return .reply(Sample.json(SuspensionCount(name: "queue/\(name)", suspended: 0)))
            default:
                let asked = try? call.parameters(as: Cancel.Parameters.self)
                let isKnown = asked?.id == 17 || asked?.queue == "b"
                return isKnown ? .reply(Sample.json(Cancel.Reply(cancelled: 1))) : .nothing
            }
        }
        #expect(outcome == VerbOutcome(output: output, code: .done))
    }

    @Test(arguments: ["start", "stop", "restart"])
    func processesAreSteeredOneAfterTheOther(verb: String) throws {
        let outcome = try run([verb, "a", "b"]) { call in
            if let answer = Self.known(call, ["a", "b"]) { return answer }
            let name = (try? call.parameters(as: ProcessName.self))?.name ?? ""
            guard var process = Samples.source.processes?.first else { return .nothing }
            (process.state, process.pid) = (.starting, nil)
            return .reply(Sample.json(ProcessCopies(name: "process/\(name)", processes: [process])))
        }
        #expect(outcome == VerbOutcome(output: "process/a starting\nprocess/b starting\n", code: .done))
    }

    @Test func whatFailsOfOneDoesNotKeepTheOthers() throws {
        let outcome = try run(["resume", "x", "b", "y"]) { call in
            if let answer = Self.known(call, ["x", "b", "y"]) { return answer }
            let name = (try? call.parameters(as: Resume.Parameters.self))?.name ?? ""
            return name == "b"
                ? .reply(Sample.json(SuspensionCount(name: "queue/b", suspended: 0)))
                : .error(ManagerError.notSuspended(name: name).reply)
        }
        #expect(outcome.output == "queue/b goes on\n")
        #expect(outcome.failure?.details == ["“x” is not suspended"])
        #expect(outcome.failure?.message == "“y” is not suspended")
        #expect(outcome.failure?.exitCode == .failed)
    }

    /// First every name has to be right.
    @Test(arguments: ["suspend", "resume", "cancel", "retry", "forget", "start", "stop", "restart"])
    func anUnknownNameKeepsAllFromBeingActedOn(verb: String) throws {
        let acted = Mutex<[String]>([])
        let outcome = try run([verb, "a", "17", "x", "b"]) { call in
            if let answer = Self.known(call, ["a", "b"]) { return answer }
            if call.name == "GetOperation" { return .error(ManagerError.noSuchOperation(id: 17).reply) }
            acted.withLock { $0.append(call.name) }
            return .error(ManagerError.noSuchName(name: "x", nearest: nil, kinds: [], others: []).reply)
        }
        #expect(outcome.failure?.exitCode == .failed)
        #expect(outcome.failure?.message == "there is no “x”")
        #expect(outcome.failure?.details.last == "nothing was done with “a”, “b”: first every name has to be right")
        // Those that are unknown were asked for, so that the daemon says what is wrong.
        #expect(acted.withLock(\.count) == 2)
    }

    @Test func forgetAllIsTheFailuresOfEveryHandler() throws {
        let outcome = try run(["forget", "--all"]) { call in
            if let answer = Self.known(call, ["backup", "build"]) { return answer }
            if let asked = try? call.parameters(as: ListHistory.Parameters.self), call.name == "ListHistory" {
                guard asked.unsettled == true else { return .nothing }
                var other = Samples.operation
                other.handler = "build"
                let page =
                    asked.after == nil
                    ? ListHistory.Reply(operations: [Samples.operation], next: "more")
                    : ListHistory.Reply(operations: [other, Samples.operation])
                return .reply(Sample.json(page))
            }
            let name = (try? call.parameters(as: FailedTarget.self))?.name
            return .reply(Sample.json(Forget.Reply(operations: name == "handler/build" ? [1] : [2, 3])))
        }
        let lines = "2 failures of handler/backup forgotten\n1 failure of handler/build forgotten\n"
        #expect(outcome == VerbOutcome(output: lines, code: .done))
        let none = try run(["forget", "--all"]) { _ in .reply(Sample.json(ListHistory.Reply(operations: []))) }
        #expect(none == VerbOutcome(output: "nothing to forget\n", code: .failed))
        #expect(try run(["forget"], socket: "/").failure?.message == "“forget” needs ID|NAME, or --all")
        #expect(try run(["forget", "--all", "x"], socket: "/").failure?.exitCode == .usage)
    }

    @Test func followBeginsAtATimeOrAfterARecord() throws {
        let records = Samples.followed.dropFirst().map(Sample.json)
        func follow(_ since: String) throws -> VerbOutcome {
            try run(["follow", "--json", "--since", since]) { call in
                if call.name == "GetStatus" { return .reply(Sample.json(Samples.status)) }
                let asked = try? call.parameters(as: Follow.Parameters.self)
                let isMeant = asked?.since == 7 || asked?.sinceTime == "2026-11-20T09:30:00.000000Z"
                return isMeant ? .stream(records) : .nothing
            }
        }
        #expect(try follow("7").code == .done)
        #expect(try follow("09:30").code == .done)
        #expect(try follow("soon").failure?.exitCode == .usage)
    }

    @Test func theStatesAreThoseOfTheTables() throws {
        for name in ["running", "executing"] {
            let outcome = try run(["operations", "--state", name]) { call in
                let state = (try? call.parameters(as: ListOperations.Parameters.self))?.state
                return state == .executing
                    ? .reply(Sample.json(ListOperations.Reply(operations: [Samples.operationRunning]))) : .nothing
            }
            #expect(outcome.output.contains("running"))
        }
        let unknown = try run(["operations", "--state", "dead"], socket: "/").failure
        #expect(unknown?.help == "one of pending, ready, running, finished, cancelled")
    }

    @Test func aCutBeginningIsMarked() throws {
        var output = GetOutput.Reply(operation: Samples.operation, attempt: 1)
        (output.output, output.outputCut) = (String(repeating: "x\n", count: 32_768), true)
        let reply = Sample.json(output)
        let lines = try run(["output", "4711"]) { _ in .reply(reply) }.output.split(separator: "\n")
        #expect(lines[1] == "… the last 64 KiB: watchd keeps no more of a run")
        let piped = try run(["output", "4711"], isTerminal: false) { _ in .reply(reply) }.output
        #expect(piped.hasPrefix("x\n"))
    }
}
