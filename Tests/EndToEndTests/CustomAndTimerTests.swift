import ControlInterface
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

@Suite("Custom sources and timers, end to end", .ownThread) struct CustomAndTimerTests {
    private func merged(_ merge: String, _ values: [Int?]) throws -> [String] {
        let text = "[Custom poke]\nMerge=\(merge)\nExec=@/record %{data} %{count}\nQueue=main\n"
        var said: [String] = []
        try Watchd.run(text) { watchd in
            try watchd.suspend("main")
            for value in values { try watchd.emit("poke", data: value) }
            try watchd.resume("main")
            try watchd.waitUntilIdle()
            said = try Recorded.all(in: watchd.folder).map {
                $0.arguments.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
            }
        }
        return said
    }

    @Test func waitingDataCombineAsInDispatch() throws {
        #expect(try merged("add", [3, 4, nil, 0]) == ["8 3"])
        #expect(try merged("or", [1, 4, 6, 0]) == ["7 3"])
        #expect(try merged("replace", [1, 4]) == ["4 2"])
        #expect(try merged("replace", [1, 4, 0]) == [], "0 is no event")
        #expect(try merged("add", [Int.max, 1]) == ["\(Int.min) 2"], "64 bits, as Dispatch's")
    }

    @Test func aPayloadArrivesUnchangedAndIsNeverMergedAway() throws {
        try Watchd.run("[Custom poke]\nExec=@/record %{data} %{count}\nQueue=main\n") { watchd in
            try watchd.suspend("main")
            let payloads: [JSONValue] = [
                .object(["number": .int(9_007_199_254_740_993), "text": .string("ä\u{0}\"/\n")]),
                .object(["deep": .array([.null, .bool(true), .object([:])])]),
            ]
            for payload in payloads { try watchd.emit("poke", payload: payload) }
            try watchd.emit("poke", data: 2)
            try watchd.emit("poke", data: 3)
            try watchd.resume("main")
            let run = try #require(try watchd.waitForRuns(1).first)
            let message = try JSON.decode(JSONValue.self, from: run.input)
            guard case .array(let events) = message.members?["events"] else {
                Issue.record("no events")
                return
            }
            #expect(events.compactMap { $0.members?["payload"] } == payloads)
            #expect(events.last?.members?["data"] == .int(5))
            #expect(events.count == 3)
            #expect(try watchd.waitUntilIdle().done == 4)
        }
    }

    @Test func standardInputMayBeThePayloadsAlone() throws {
        let text = "[Custom poke]\nExec=@/record\nStandardInput=payload\n"
        try Watchd.run(text) { watchd in
            try watchd.suspend("custom/poke")
            try watchd.emit("poke", payload: .object(["a": .int(1)]))
            try watchd.emit("poke", data: 7)
            try watchd.emit("poke", payload: .object(["b": .string("x\ny")]))
            try watchd.resume("custom/poke")
            #expect(try watchd.waitForRuns(1).first?.inputText == "{\"a\":1}\n{\"b\":\"x\\ny\"}\n", "a line each")
        }
    }

    @Test func emitIntoAChainCarriesDataOn() throws {
        let text = """
            [Custom first]
            Emit=second %{data}
            [Custom second]
            Exec=@/record %{data} %{source}
            """
        try Watchd.run(text) { watchd in
            try watchd.emit("first", data: -17)
            let run = try #require(try watchd.waitForRuns(1).first)
            #expect(run.arguments == ["-17".pathBytes, "second".pathBytes])
        }
    }

    @Test func timersRunOnTheirGridAndTellWhenTheyWereDue() throws {
        let text = """
            [Timer grid]
            EverySec=100ms
            Exec=@/record every %{scheduled}
            [Timer after]
            AfterSec=50ms
            Exec=@/record after
            [Timer startup]
            OnStartupSec=10ms
            Exec=@/record startup
            """
        try Watchd.run(text) { watchd in
            var runs: [Recorded] = []
            try wait(for: "four elapses of the grid, and the others") {
                runs = try Recorded.all(in: watchd.folder)
                let words = runs.map { String(decoding: $0.arguments[0], as: UTF8.self) }
                return words.count { $0 == "every" } >= 4 && words.count { $0 == "after" } >= 3
                    && words.contains("startup")
            }
            let due = runs.filter { $0.arguments[0] == "every".pathBytes }.map {
                String(decoding: $0.arguments[1], as: UTF8.self)
            }
            let steps = try due.map { try microseconds($0) }
            for (earlier, later) in zip(steps, steps.dropFirst()) {
                #expect(abs((later - earlier) % 100_000) < 1000 || abs((later - earlier) % 100_000) > 99_000)
            }
            #expect(runs.count { $0.arguments[0] == "startup".pathBytes } == 1)
            #expect(runs.first { $0["WATCHD_KIND"] == "timer" }?.inputText.contains("\"scheduled\":\"20") == true)
        }
    }

    /// The microseconds in its second and the seconds of its minute are enough for a step.
    private func microseconds(_ time: String) throws -> Int {
        let parts = time.dropLast().split(separator: ":").last?.split(separator: ".") ?? []
        let seconds = try #require(parts.first.flatMap { Int($0) })
        let fraction = parts.count > 1 ? try #require(Int(parts[1])) : 0
        return seconds * 1_000_000 + fraction
    }

    @Test func whatWaitsForTheRateIsSeenAndMerges() throws {
        let text = "[Custom poke]\nExec=/bin/true\nRateLimit=1/1h\n"
        try Watchd.run(text) { watchd in
            for number in 1...4 {
                try watchd.emit("poke", payload: .object(["number": .int(Int64(number))]))
                // Else the second one would join an operation that waits for the first to end.
                try watchd.waitForEnded(1, of: "poke")
            }
            let held = try #require(try watchd.status().held.first)
            #expect(held.source == "custom/poke" && held.handlers == ["poke"] && held.events == 3)
            #expect(held.waitingFor.hasPrefix("RateLimit=1/1h, "), "\(held)")
            let waiting = "3 events of custom/poke"
            #expect(try watchd.control("status").text.contains("WAITING (1)"))
            #expect(try watchd.control("status").text.contains("more: \(waiting)"))
            #expect(try watchd.control("operations").text.contains("custom/poke, 3 events"))
            #expect(try watchd.control("operations", "--state", "executing").text.contains("no such operations"))
            for name in ["poke", "custom/poke", "handler/poke"] {
                let text = try watchd.control("explain", name).text
                #expect(text.contains("\(waiting) wait for RateLimit=1/1h, "), "\(text)")
            }
            #expect(try watchd.control("sources").text.contains("custom/poke: RateLimit=1/1h, "))
            try Watchd.write(text.replacing("RateLimit=1/1h\n", with: ""), to: watchd.folder)
            #expect(try watchd.control("reload").code == 0)
            let last = try #require(try watchd.waitForEnded(2, of: "poke").last)
            #expect(last.deliveries == 3)
            #expect(try watchd.status().held.isEmpty)
        }
    }
}
