import Dispatch
import Engine
import EventSources
import Handlers
import LinuxSystem
import ProgramKit
import Store
import Synchronization
import Testing
import WatchFile

@testable import Daemon

@Suite("Persistence", .ownThread) struct PersistenceTests {
    /// A disk that hangs is said to be failing, so that what needs no store goes on; and it heals.
    @Test func aDiskThatDoesNotAnswerFailsUntilItDoes() throws {
        try Folder.with { folder in
            let core = Context("test.core")
            let said = Mutex<[String]>([])
            let persistence = core.queue.sync {
                let persistence = Persistence(
                    nil, folder: folder["state"].pathBytes, failure: nil, settings: DaemonSettings(), core: core,
                    answers: Answers(to: Context("test.control")), logger: Logger(level: .err), patience: 200_000
                ) { change in
                    switch change {
                    case .working: said.withLock { $0.append("working") }
                    case .failing(let error): said.withLock { $0.append("\(error)") }
                    case .opened, .replaced: break
                    }
                }
                return QueueBound(persistence, to: core)
            }
            let gate = DispatchSemaphore(value: 0)
            let done = Mutex(0)
            core.queue.sync {
                persistence.value.writer?.context.async { gate.wait() }
                persistence.value.write([.booted(SourceID(.timer, "t"))])
                persistence.value.whenSafe { done.withLock { $0 += 1 } }
                persistence.value.whenSafe(orFailing: true) { done.withLock { $0 += 10 } }
            }
            let silent = "the disk of \(folder["state"]) does not answer"
            try wait(for: "it to be told") { said.withLock { $0 } == [silent] }
            #expect(done.withLock { $0 } == 10)
            gate.signal()
            try wait(for: "it to work again") {
                said.withLock { $0 } == [silent, "working"] && done.withLock { $0 } == 11
            }
            let isClosed = Mutex(false)
            core.queue.sync { persistence.value.close { _ in isClosed.withLock { $0 = true } } }
            try wait(for: "its end") { isClosed.withLock { $0 } }
        }
    }
}
