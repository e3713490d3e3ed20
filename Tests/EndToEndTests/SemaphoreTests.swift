import ControlInterface
import ProgramKit
import Testing
import Varlink

/// Semaphores as clients see and steer them.
@Suite("Semaphores, end to end", .ownThread) struct SemaphoreTests {
    private static let text = """
        [Semaphore tokens]
        Value=0
        [Semaphore spare]
        Value=3
        [Custom job]
        Log=ran with %{data}
        Consume=tokens:2
        Key=none
        Coalesce=no

        """

    @Test func whoWaitsStartsWhenEnoughIsGiven() throws {
        try Watchd.run(Self.text) { watchd in
            try watchd.emit("job", data: 1)
            try watchd.emit("job", data: 2)
            let waiting = try watchd.status().waiting
            #expect(waiting.map(\.waitReason) == ["semaphore", "semaphore"])
            #expect(waiting.first?.waitingFor?.contains("tokens") == true)
            #expect(try watchd.status().semaphores == [.init(name: "tokens", value: 0, available: 0, waiting: 2)])
            #expect(try watchd.call(Signal.self, .init(name: "tokens")).available == 1)
            #expect(try watchd.status().totals.done == 0)
            #expect(try watchd.control("signal", "semaphore/tokens").text.hasPrefix("semaphore/tokens: "))
            try watchd.waitForEnded(1, of: "job")
            try watchd.waitForLog("job: ran with 1")
            #expect(try watchd.call(Signal.self, .init(name: "tokens", count: 2)).available == 0)
            #expect(try watchd.waitUntilIdle().done == 2)
            let all = try watchd.call(ListSemaphores.self, .init()).semaphores
            #expect(all.map(\.name) == ["spare", "tokens"])
            #expect(all.map(\.value) == [3, 0] && all.map(\.available) == [3, 0])
        }
    }

    @Test func nothingLessThanOneIsGiven() throws {
        try Watchd.run(Self.text) { watchd in
            for count in [0, -1, Int.max] {
                let error = try watchd.error(Signal.self, .init(name: "spare", count: count))
                #expect(error == .invalidParameter("count"), "\(count)")
            }
            #expect(try watchd.error(Signal.self, .init(name: "spaer"))?.parameters["nearest"] == .string("spare"))
            #expect(try watchd.control("signal", "spare", "0").code == 2)
            #expect(try watchd.control("signal", "spare", "4").text == "spare: 7 free\n")
            #expect(try watchd.error(ListSemaphores.self, .init(name: "x"))?.name == "io.watchd.Manager.NoSuchName")
        }
    }
}
