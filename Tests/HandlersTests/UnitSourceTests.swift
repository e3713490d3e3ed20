import Dispatch
import EventSources
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import WatchFile

@testable import Engine
@testable import Handlers

@Suite("Sources of units", .ownThread) struct UnitSourceTests {
    private static let id = SourceID(.unit, "u")

    /// What a source says while `body` runs on its context.
    private func said(by body: (UnitSource) -> Void) throws -> [String] {
        let core = Context("test.core")
        let inputs = Mutex<[Input]>([])
        try core.queue.sync {
            let epoll = try EpollSet(on: core)
            defer { epoll.cancel() }
            let hub = UnitHub(core: core, epoll: epoll, scope: UnitHub.ownScope)
            let trigger = UnitTrigger(units: ["*.service"], events: [.failed, .inactive])
            body(UnitSource(Self.id, trigger, hub) { input in inputs.withLock { $0.append(input) } })
        }
        return inputs.withLock { $0 }.map { input in
            switch input {
            case .event(_, .unit(let fact), _): "\(fact.unit) \(fact.change) \(fact.result ?? "-")"
            case .source(_, .failed(let reason, _)): "failed: \(reason)"
            default: "\(input)"
            }
        }
    }

    @Test func aFailureIsToldWithItsResultOnceThatIsKnown() throws {
        let said = try said { source in
            source.changed("a.service", .failed, result: nil) { unit, answer in
                #expect(unit == "a.service")
                answer("exit-code")
            }
            source.changed("b.service", .failed, result: "timeout") { _, _ in Issue.record("it is known") }
        }
        #expect(said == ["a.service failed exit-code", "b.service failed timeout"])
    }

    @Test func whatChangedBetweenTheOpeningAndTheFirstListIsTold() throws {
        let before = UInt64(Linux.now(.monotonic))
        let said = try said { source in
            source.listedFirst(
                [("old.service", .failed), ("new.service", .failed), ("up.service", .active), ("x.service", .failed)]
            ) { unit, answer in
                #expect(unit != "up.service", "nobody asks for this state")
                answer(unit == "old.service" ? before - 1 : unit == "x.service" ? nil : UInt64(Linux.now(.monotonic)))
            }
        }
        #expect(said == ["new.service failed exit-code"])
    }

    @Test func aFailureWhoseResultIsAskedForWhenTheBusIsLostIsToldWithoutIt() throws {
        let said = try said { source in
            var answers: [(String?) -> Void] = []
            for unit in ["b.service", "a.service"] {
                source.changed(unit, .failed, result: nil) { answers.append($1) }
            }
            source.failed(.failed("there is no bus"))
            for answer in answers { answer("exit-code") }
            source.failed(.failed("there is still no bus"))
        }
        #expect(
            said == [
                "a.service failed -", "b.service failed -", "failed: there is no bus", "failed: there is still no bus",
            ])
    }
}

extension UnitSource {
    fileprivate func listedFirst(
        _ units: [(unit: String, state: UnitChange)],
        _ changeTime: (_ unit: String, _ answer: @escaping (UInt64?) -> Void) -> Void
    ) {
        saw(units)
        began(with: units, changeTime: changeTime) { _, answer in answer("exit-code") }
    }
}
