import LinuxSystem
import ProgramKit
import Testing

/// `FileDescriptorName=`: socket units of the machine's owner whose service is watchd.
@Suite("Service sockets", .ownThreadChain, .serialized) struct ServiceSocketTests {
    private static let units = ["connections": "ListenStream", "datagrams": "ListenDatagram", "fifo": "ListenFIFO"]
    private static let addresses = [
        "connections": "127.0.0.1:4711", "datagrams": "127.0.0.1:4711", "fifo": "/run/fifo",
    ]

    private static let watchFile =
        units.keys.sorted().map { name in
            """
            [Descriptor \(name)]
            FileDescriptorName=to-\(name)
            Exec=/bin/echo %{line}
            StandardOutput=append:/srv/\(name)
            Queue=main

            """
        }.joined()

    private func with(_ body: (Machine) throws -> Void) throws {
        try Machine.with("[Custom nothing]\nLog=nothing\n") { machine in
            try systemctl(machine, "stop", "watchd.service")
            try machine.write("/etc/watchd/test.watch", Self.watchFile)
            for (name, key) in Self.units {
                let lines = [
                    "[Socket]", "\(key)=\(Self.addresses[name] ?? "")", "FileDescriptorName=to-\(name)",
                    "Service=watchd.service", "",
                ]
                try machine.write("/etc/systemd/system/own-\(name).socket", lines.joined(separator: "\n"))
            }
            try systemctl(machine, "daemon-reload")
            for name in Self.units.keys { try systemctl(machine, "start", "own-\(name).socket") }
            try body(machine)
        }
    }

    private func systemctl(_ machine: Machine, _ words: String...) throws {
        let end = try machine.run(["systemctl"] + words)
        #expect(end.code == 0, "\(words): \(end)")
    }

    /// A client of each socket.
    private func write(_ machine: Machine, _ text: String) throws {
        for script in [
            "printf '\(text) 1\\n\(text) 2\\n' >/dev/tcp/127.0.0.1/4711", "printf '\(text)' >/dev/udp/127.0.0.1/4711",
            "printf '\(text)\\n' >/run/fifo",
        ] {
            let end = try machine.run("timeout", "30", "bash", "-c", script)
            #expect(end.code == 0, "\(script): \(end)")
        }
    }

    private func expect(_ machine: Machine, _ texts: [String]) throws {
        let both = texts.flatMap { ["\($0) 1", "\($0) 2"] }
        for (name, wanted) in ["connections": both, "datagrams": texts, "fifo": texts] {
            var found: [String] = []
            try wait(for: "\(wanted) of \(name)") {
                found = try machine.run("cat", "/srv/\(name)").text.split(separator: "\n").map(String.init)
                return found.count >= wanted.count
            }
            #expect(found == wanted, "\(name)")
        }
    }

    @Test func eachIsFoundByItsNameByEveryNextDaemonToo() throws {
        try with { machine in
            try systemctl(machine, "start", "watchd.service")
            try write(machine, "one")
            try expect(machine, ["one"])
            let process = try machine.property("MainPID")
            try systemctl(machine, "restart", "watchd.service")
            #expect(try machine.property("MainPID") != process)
            try write(machine, "two")
            try expect(machine, ["one", "two"])
            try systemctl(machine, "reload", "watchd.service")
            try write(machine, "three")
            try expect(machine, ["one", "two", "three"])
            #expect(try machine.run("watchctl", "status").code == 0, "the control socket is another")
        }
    }

    @Test func whoComesWhileItIsStoppedStartsIt() throws {
        try with { machine in
            #expect(try machine.property("ActiveState") == "inactive")
            try write(machine, "one")
            try expect(machine, ["one"])
            #expect(try machine.property("ActiveState") == "active")
        }
    }
}
