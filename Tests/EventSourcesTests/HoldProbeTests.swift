import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import WatchFile

@testable import EventSources

@Suite("Conditions of HoldUntil=", .ownThread) struct HoldProbeTests {
    /// A folder as `/sys/class/power_supply`: the files of each device.
    private func power(_ devices: [String: [String: String]]) throws -> String? {
        var result: String?
        try Folder.with { folder in
            for (name, files) in devices {
                try folder.makeFolder(name)
                for (file, text) in files { try folder.write("\(name)/\(file)", text + "\n") }
            }
            result = PowerProbe.obstacle(in: folder.path)
        }
        return result
    }

    @Test func anAdapterThatSuppliesPowerIsEnough() throws {
        let mains = ["type": "Mains", "online": "1"]
        let battery = ["type": "Battery", "status": "Discharging"]
        #expect(try power([:]) == nil, "nothing is known of a battery")
        #expect(PowerProbe.obstacle(in: "/nonexistent") == nil)
        #expect(try power(["AC": mains]) == nil)
        #expect(try power(["AC": mains, "BAT0": battery]) == nil)
        #expect(try power(["AC": ["type": "Mains", "online": "0"]]) == "adapter AC is not plugged in")
        let both = try power(["AC": ["type": "Mains", "online": "0"], "BAT0": battery])
        #expect(both == "battery BAT0 is being discharged")
        #expect(try power(["BAT0": battery]) == "battery BAT0 is being discharged")
        #expect(try power(["BAT0": ["type": "Battery", "status": "Full"]]) == nil)
        // A mouse runs on its own battery.
        #expect(try power(["hidpp": battery.merging(["scope": "Device"]) { $1 }]) == nil)
        #expect(try power(["odd": [:], "AC": ["type": "Mains", "online": "\u{0}"]]) == nil)
    }

    private func network(_ routes: String, six: String = "", states: [String: String] = [:]) throws -> String? {
        var result: String?
        try Folder.with { folder in
            for name in ["net", "class", "class/net"] { try folder.makeFolder(name) }
            try folder.write("net/route", routes)
            try folder.write("net/ipv6_route", six)
            for (link, state) in states {
                try folder.makeFolder("class/net/\(link)")
                try folder.write("class/net/\(link)/operstate", state + "\n")
            }
            result = NetworkProbe.obstacle(proc: folder.path, sys: folder.path)
        }
        return result
    }

    @Test func thereIsADefaultRouteOverALinkThatIsUp() throws {
        let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        func row(_ link: String, _ destination: String, _ flags: String, _ mask: String) -> String {
            "\(link)\t\(destination)\t0100A8C0\t\(flags)\t0\t0\t0\t\(mask)\t0\t0\t0\n"
        }
        let good = head + row("eth0", "00000000", "0003", "00000000")
        #expect(try network(head) == "there is no default route")
        #expect(try network("") == "there is no default route")
        #expect(try network(head + row("eth0", "0000A8C0", "0001", "00FFFFFF")) == "there is no default route")
        #expect(try network(head + row("eth0", "00000000", "0201", "00000000")) == "there is no default route")
        #expect(try network(head + row("*", "00000000", "0001", "00000000")) == "there is no default route")
        #expect(try network(good) == nil)
        #expect(try network(good, states: ["eth0": "up"]) == nil)
        #expect(try network(good, states: ["eth0": "unknown"]) == nil)
        #expect(try network(good, states: ["eth0": "down"]) == "eth0, of the default route, is down")
        let zeros = String(repeating: "0", count: 32)
        func six(_ flags: String, _ link: String) -> String {
            "\(zeros) 00 \(zeros) 00 fe800000000000000000000000000001 00000400 00000001 00000000 \(flags)     \(link)\n"
        }
        #expect(try network(head, six: six("00000003", "wlan0")) == nil)
        // The kernel's own, which rejects.
        #expect(try network(head, six: six("00200200", "lo")) == "there is no default route")
        #expect(try network("\u{0}\n\t\t\nx", six: "a b c\n") == "there is no default route")
    }

    @Test func thePressureIsThatOfTheLastTenSeconds() {
        let text = Array("some avg10=20.00 avg60=0.87 avg300=0.21 total=9\nfull avg10=0.50 avg60=0.00 total=1\n".utf8)
        #expect(PressureProbe.obstacle(text, .some, percent: 20) == "it is 20.00%")
        #expect(PressureProbe.obstacle(text, .some, percent: 21) == nil)
        #expect(PressureProbe.obstacle(text, .full, percent: 1) == nil)
        for odd in ["", "some", "some avg10=", "some avg10=x", "full avg10=99\n"] {
            #expect(PressureProbe.obstacle(Array(odd.utf8), .some, percent: 1) == nil)
        }
    }

    /// In the place of a probe that no condition of the test asks for.
    private final class NoProbe: HoldProbe {
        init(of condition: String) { Issue.record("\(condition) is not waited for") }

        func begin() {}
        func end() {}
    }

    /// A pressure file that is read again while it is too high, and a path that comes and goes.
    @Test func probesTellEachChangeAndNothingOnceTheyHaveEnded() throws {
        try Folder.with { folder in
            try folder.makeFolder("pressure")
            try folder.write("pressure/cpu", "some avg10=50.00 total=1\n")
            let told = Mutex<[String]>([])
            let core = Context("test.hold")
            let slow = Lanes(core: core, count: 1)
            let (watches, epoll) = try core.queue.sync {
                let epoll = try EpollSet(on: core)
                let environment = HoldEnvironment(
                    core: core, slow: slow, epoll: epoll, proc: folder.path,
                    unitProbe: { name, _ in NoProbe(of: name) }, idleProbe: { span, _ in NoProbe(of: "\(span)") }
                ) { input in
                    if case .hold(let condition, let obstacle) = input {
                        told.withLock { $0.append("\(condition) \(obstacle ?? "holds")") }
                    }
                }
                return (QueueBound(HoldWatches(environment), to: core), QueueBound(epoll, to: core))
            }
            let path = Array(folder["a/b/go"].utf8)
            let conditions = [
                HoldCondition.pressure(.cpu, .some, percent: 20), .path(path), .networkOnline, .mainsPower,
            ]
            core.queue.sync { for condition in conditions { watches.value.watch(condition) } }
            func says(_ text: String) throws {
                try wait(for: text) { told.withLock { $0 }.contains { $0.hasSuffix(text) } }
            }
            try says("a/b/go nothing is there")
            try says("20% it is 50.00%")
            try wait(for: "the others") {
                let heads = Set(told.withLock { $0 }.compactMap { $0.split(separator: " ").first })
                return heads.contains("ac-power") && heads.contains("network-online")
            }
            // Folders on the way are not there yet.
            for name in ["a", "a/b"] { try folder.makeFolder(name) }
            try folder.write("a/b/go", "")
            try folder.write("pressure/cpu", "some avg10=19.99 total=1\n")
            try says("a/b/go holds")
            try says("20% holds")
            told.withLock { $0 = [] }
            try Linux.unlink(folder["a/b/go"])
            try says("a/b/go nothing is there")
            core.queue.sync { for condition in conditions { watches.value.unwatch(condition) } }
            // Everything on its way is over by now.
            core.queue.sync {}
            told.withLock { $0 = [] }
            try folder.write("a/b/go", "")
            core.queue.sync {}
            #expect(told.withLock { $0 }.isEmpty)
            core.queue.sync { epoll.value.cancel() }
        }
    }
}
