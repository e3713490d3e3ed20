import Engine
import LinuxSystem
import Testing
import WatchFile

@testable import Daemon
@testable import Handlers

/// Which stored and noted operations still have a process.
@Suite("Adoption") struct AdoptionTests {
    /// Its environment cannot be read for a moment, as while it starts another process.
    @Test(arguments: [1, 2]) func aProcessInTheCgroupOfARunIsThatOfTheNotedOperation(attempt: Int) throws {
        let own = try #require(Linux.place(of: Linux.processID))
        let process = AdoptableProcess(4711, own, contained: RunID(operation: 7, attempt: 1))
        var noted = StoredOperation(id: 7, handler: "h", queue: "q", origin: .run(handler: "h"), submitted: 7)
        noted.attempt = attempt
        noted.isExecuting = true
        noted.isDurable = false
        noted.events = [Event(id: 1, time: 5, fact: .custom(CustomFact(data: 1)))]
        var state = StoredState()
        Adoption(
            kept: KeptDescriptors([]), found: [process], begun: [7: noted],
            configuration: Configuration(settings: DaemonSettings())
        ) { _ in false }.apply(to: &state)
        #expect(state.operations.flatMap(\.runs).map(\.pid) == (attempt == 1 ? [4711] : []))
    }
}
