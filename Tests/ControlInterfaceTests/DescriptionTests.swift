import ControlInterface
import ControlKit
import JSON
import Testing
import Varlink

@Suite("Interface description")
struct DescriptionTests {
    private let text: InterfaceText

    init() throws { text = try InterfaceText(Manager.interface.description) }

    @Test func itDescribesExactlyTheMethodsThereAre() {
        #expect(Set(text.methods.keys) == Set(Manager.methods.map { $0.name }))
        #expect(Set(Samples.full.map { $0.method.name }) == Set(text.methods.keys))
    }

    @Test(arguments: Samples.full)
    func aValueWithEveryMemberIsAsDescribed(sample: Sample) throws {
        #expect(sample.losses == [])
        let method = try #require(text.methods[sample.method.name])
        // These take exactly one of two parameters, or one not with another.
        let isComplete = !["Cancel", "Explain", "Wait", "Retry", "Forget", "ListHistory", "GetOutput"].contains(
            sample.method.name)
        #expect(text.mismatches(of: sample.parameters, with: method.parameters, isComplete: isComplete) == [])
        // A list that is empty would hide its elements.
        #expect(text.mismatches(of: sample.reply, with: method.reply, isComplete: false) == [])
    }

    @Test(arguments: Samples.minimal)
    func aValueWithoutWhatMayBeMissingIsAsDescribed(sample: Sample) throws {
        #expect(sample.losses == [])
        let method = try #require(text.methods[sample.method.name])
        #expect(text.mismatches(of: sample.parameters, with: method.parameters, isComplete: false) == [])
        #expect(text.mismatches(of: sample.reply, with: method.reply, isComplete: false) == [])
    }

    @Test(arguments: [
        ("Semaphore", Sample.json(Samples.semaphore)), ("Group", Sample.json(Samples.group)),
        ("Step", Sample.json(Samples.explanation.steps[0])), ("OperationRun", Sample.json(Samples.detail.runs[0])),
        ("SupervisedProcess", Sample.json(Samples.process)), ("Source", Sample.json(Samples.source)),
        ("Queue", Sample.json(Samples.queue)),
        ("Handler", Sample.json(Samples.handler)), ("OperationSummary", Sample.json(Samples.completeOperation)),
        ("OperationDetail", Sample.json(Samples.detail)), ("Problem", Sample.json(Samples.status.problems[0])),
        ("HeldEvents", Sample.json(Samples.held)),
        ("Pause", Sample.json(Samples.status.pauses[0])), ("Elapse", Sample.json(Samples.status.next[0])),
        ("Store", Sample.json(Samples.store)), ("Retried", Sample.json(Retry.Retried(failed: 1, operation: 2))),
        ("Counters", Sample.json(Counters())), ("Gap", Sample.json(Follow.Gap(first: 1, last: 2))),
        ("OutputLines", Sample.json(Samples.outputLines)),
        ("Emission", Sample.json(Samples.traced(Emit.Parameters(name: "a", data: 1, payload: Samples.payload)))),
    ])
    func everyMemberOfARecordIsDescribed(type: String, value: JSONValue) {
        #expect(text.mismatches(of: value, with: .named(type), isComplete: true) == [])
    }

    @Test func itsCasesAreThoseOfTheTypes() {
        #expect(text.types["OperationState"] == .cases(OperationSummary.State.allCases.map(\.rawValue)))
        #expect(text.types["OperationResult"] == .cases(OperationSummary.Result.allCases.map(\.rawValue)))
        let counted = member("counted", of: text.types["ResourcesUsed"])
        #expect(counted == .cases(ResourcesUsed.Counted.allCases.map(\.rawValue)))
        #expect(member("state", of: text.types["Store"]) == .cases(GetStatus.Store.State.allCases.map(\.rawValue)))
        #expect(
            member("state", of: text.types["Source"]) == .cases(ListSources.Source.State.allCases.map(\.rawValue)))
        #expect(
            member("state", of: text.types["SupervisedProcess"])
                == .cases(SupervisedProcess.State.allCases.map(\.rawValue)))
        #expect(member("type", of: text.types["Queue"]) == .cases(ListQueues.Queue.Kind.allCases.map(\.rawValue)))
        #expect(
            member("kind", of: text.methods["ListNames"]?.parameters) == .cases(ListNames.Kind.allCases.map(\.rawValue))
        )
        #expect(
            member("state", of: text.methods["GetStatus"]?.reply)
                == .cases(GetStatus.Reply.State.allCases.map(\.rawValue)))
    }

    private func member(_ name: String, of kind: InterfaceText.Kind?) -> InterfaceText.Kind? {
        if case .record(let members) = kind { members.first { $0.name == name }?.kind } else { nil }
    }

    @Test func everyErrorIsDescribedAndReadBack() throws {
        for error in Self.errors {
            let reply = error.reply
            #expect(ManagerError(reply) == error)
            let name = String(reply.name.dropFirst(Manager.name.count + 1))
            let kind = try #require(text.errors[name])
            #expect(text.mismatches(of: .object(reply.parameters), with: kind, isComplete: false) == [])
        }
        #expect(text.errors.count == Set(Self.errors.map(\.reply.name)).count)
        #expect(ManagerError(.permissionDenied) == nil)
        #expect(ManagerError(ErrorReply("io.watchd.Manager.FromTheFuture")) == nil)
    }

    private static let errors: [ManagerError] = [
        .noSuchName(name: "a", nearest: "b"), .noSuchName(name: "a", nearest: nil),
        .noSuchName(name: "a", nearest: nil, kinds: ["queue", "group"], others: ["handler/a"]),
        .ambiguousName(name: "a", candidates: ["path/a", "queue/a"]), .noSuchOperation(id: 7),
        .hasEnded(id: 7, result: "done", ended: "2026-11-20T09:48:02Z"),
        .notFailed(id: 7, state: "done"), .notFailed(id: 7, state: "retried", successor: 9),
        .storeFailing(reason: "no space left"),
        .invalidWatchFile(diagnostics: ["a.watch:1:1: error: no"]), .queueFull(queue: "q", backlog: 10),
        .wouldDeadlock(chain: ["a waits for b", "b waits for a"]), .noSuchTicket(group: "group/g", ticket: 3),
        .noSuchTicket(group: "group/g", ticket: 3, isEarlier: true),
        .noSuchProcess(pid: 77), .tooManyTickets(limit: 512), .timedOut(what: "images", state: "3 wait"),
        .notSuspended(name: "a"), .notCustom(name: "a"), .takesNoPaths(name: "a"), .needsDescriptor(handler: "a"),
        .notSupervised(name: "process/a"),
        .notUp(name: "process/a", reason: "exit 3 after 2s"), .draining,
        .notSupported(what: "plan"), .notPermitted(reason: "only root"), .refused(reason: "a NUL"), .tooSlow,
    ]

    /// A blank line ends a comment: each member's stands directly above it.
    @Test func everyMemberHasAComment() {
        for interface in [Manager.interface, .service, .systemdService] {
            let lines = interface.description.split(separator: "\n", omittingEmptySubsequences: false)
            for (index, line) in lines.enumerated() {
                guard ["interface ", "method ", "type ", "error "].contains(where: line.hasPrefix) else { continue }
                #expect(index > 0 && lines[index - 1].hasPrefix("#"), "\(line)")
            }
        }
    }
}
