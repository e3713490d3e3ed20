import Glibc
import LinuxSystem
import ProgramKit
import Systemd
import Testing

@Suite("Notification", .ownThreadChain) struct NotificationTests {
    @Test func keysAreCombinedInOneText() {
        #expect((Notification.ready + .status("3 sources")).text == "READY=1\nSTATUS=3 sources")
        #expect(Notification.reloading(now: 17).text == "RELOADING=1\nMONOTONIC_USEC=17")
        #expect((Notification.stopping + .errno(2)).text == "STOPPING=1\nERRNO=2")
        #expect(Notification.extendTimeout(microseconds: 5).text == "EXTEND_TIMEOUT_USEC=5")
        #expect(Notification.watchdog.text == "WATCHDOG=1")
    }

    @Test func aStatusStaysOneLineAndFits() {
        #expect(Notification.status("a\nREADY=1\r\0b\u{7F}").text == "STATUS=a READY=1  b ")
        let long = Notification.status(String(repeating: "ä", count: 3000)).text
        #expect(long.utf8.count <= 2048 + 7)
        #expect(long.hasSuffix("ä…"))
        let exact = String(repeating: "x", count: 2048)
        #expect(Notification.status(exact).text == "STATUS=" + exact)
        let cluster = "e" + String(repeating: "\u{301}", count: 5000)
        #expect(Notification.status(cluster).text == "STATUS=…")
    }

    @Test func withoutAManagerNothingIsSent() async {
        await #expect(processExitsWith: .success) {
            unsetenv("NOTIFY_SOCKET")
            precondition(Notifier.send(.ready) == .notAsked)
        }
    }

    @Test func oneDatagramReachesTheManager() async {
        await #expect(processExitsWith: .success) {
            let name = "watchd-test-notify-\(Linux.processID)"
            let manager = Endpoint.abstract(name.pathBytes)
            try Linux.socket(for: manager, .datagram).use { socket in
                try Linux.bind(socket, manager)
                setenv("NOTIFY_SOCKET", "@" + name, 1)
                precondition(Notifier.send(.ready + .status("up")) == .sent)
                let datagram = try Linux.receiveDatagram(socket, limit: 4096)
                precondition(datagram?.bytes == "READY=1\nSTATUS=up".pathBytes)
                let more = try Linux.receiveDatagram(socket, limit: 4096)
                precondition(more == nil)
            }
            guard case .failed = Notifier.send(.stopping) else { preconditionFailure("nobody listens any more") }
        }
    }

    @Test func theWatchdogIsAskedForByTheManagerOnly() async {
        await #expect(processExitsWith: .success) {
            unsetenv("WATCHDOG_USEC")
            let none = try Watchdog.interval()
            precondition(none == nil)
            setenv("WATCHDOG_USEC", "30000000", 1)
            setenv("WATCHDOG_PID", "\(Linux.processID)", 1)
            let interval = try Watchdog.interval()
            precondition(interval == 30_000_000)
            setenv("WATCHDOG_PID", "1", 1)
            let other = try Watchdog.interval()
            precondition(other == nil)
            setenv("WATCHDOG_USEC", "soon", 1)
            setenv("WATCHDOG_PID", "\(Linux.processID)", 1)
            do {
                _ = try Watchdog.interval()
                preconditionFailure("no number")
            } catch {}
        }
    }

    @Test func passedDescriptorsAreTakenOnceByName() async {
        await #expect(processExitsWith: .success) {
            let none = try ListenSockets.take()
            precondition(none.isEmpty)
            // The lowest free numbers are given out first, so afterwards 3 and 4 are open, whoever had them before.
            while try Linux.open("/dev/null").release() < 16 {}
            setenv("LISTEN_PID", "\(Linux.processID)", 1)
            setenv("LISTEN_FDS", "2", 1)
            setenv("LISTEN_FDNAMES", "varlink:", 1)
            let passed = try ListenSockets.take()
            precondition(passed.map(\.name) == ["varlink", ""], "\(passed)")
            precondition(passed.map(\.rawValue) == [3, 4])
            precondition(fcntl(3, F_GETFD) == FD_CLOEXEC)
            precondition(getenv("LISTEN_FDS") == nil && getenv("LISTEN_PID") == nil && getenv("LISTEN_FDNAMES") == nil)
        }
    }
}
