import ControlInterface
import ProgramKit
import Testing
import Varlink

@testable import Daemon

/// Long lists come in pages, and the core goes on with what else there is before one page is made.
@Suite("Long lists", .ownThread) struct ListTurnsTests {
    @Test func allSourcesAreListedAndOthersComeBetween() throws {
        let count = 2 * Manager.maximumPage
        let quiet = (1...count).map { "[Custom c\($0)]\nExec=true\n" }.joined()
        let first = "[Timer first]\nOnStartupSec=2h\nExec=true\n"
        let last = "[Timer last]\nOnStartupSec=1h\nExec=true\n"
        try AskedRuntime.with(first + quiet + last) { asked in
            let soonest = try asked.call(GetStatus.self, .init()).next.map(\.source)
            #expect(soonest == ["timer/last", "timer/first"])
            var (names, next) = ([String](), String?.none)
            repeat {
                let page = try asked.call(ListSources.self, NamedListParameters(after: next))
                names += page.sources.map(\.name)
                next = page.next
            } while next != nil
            #expect(names == (1...count).map { "custom/c\($0)" }.sorted() + ["timer/first", "timer/last"])
            #expect(try asked.letsOthersBetween(GetStatus.self, .init()))
            #expect(try asked.letsOthersBetween(ListSources.self, .init()))
        }
    }

    @Test func allOperationsAreListedAndOthersComeBetween() throws {
        let count = 2 * Manager.maximumPage + 1
        let watch = """
            [Queue q]
            Backlog=5000
            [Handler h]
            Queue=q
            Exec=true
            [Custom go]
            Coalesce=no
            Handler=h

            """
        try AskedRuntime.with(watch) { asked in
            _ = try asked.call(Suspend.self, .init(name: "queue/q"))
            let emission = Emit.Parameters(name: "go")
            _ = try asked.call(EmitAll.self, .init(events: Array(repeating: emission, count: count)))
            var (ids, next) = ([Int](), Int?.none)
            repeat {
                let page = try asked.call(ListOperations.self, .init(after: next))
                ids += page.operations.map(\.id)
                next = page.next
            } while next != nil
            #expect(ids.count == count && ids == Set(ids).sorted())
            #expect(try asked.letsOthersBetween(ListOperations.self, .init()))
            #expect(try asked.call(GetStatus.self, .init()).waiting.map(\.id) == Array(ids.prefix(20)))
        }
    }
}
