import Glibc
import LinuxSystem
import ProgramKit
import Testing

enum Repository {
    /// The folder of the package.
    static let root: String = {
        // …/Tests/SystemdTests/Machine.swift
        var folder = #filePath[...]
        for _ in 0..<3 { folder = folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)] }
        return String(folder)
    }()

    static func text(_ path: String) throws -> String {
        String(decoding: try Linux.readFile("\(root)/\(path)", limit: 1 << 20), as: UTF8.self)
    }
}

/// A systemd manager that runs, with watchd installed and its service started.
struct Machine {
    let folder: Folder
    private var script: String { "\(Repository.root)/Tests/SystemdTests/real-systemd.sh" }
    private var state: String { folder["machine"] }

    /// `settings`: more of the section [Service].
    static func with(
        _ watchFile: String, settings: String = "", sourceLocation: SourceLocation = #_sourceLocation,
        _ body: (Machine) throws -> Void
    ) throws {
        try bare(sourceLocation: sourceLocation) { machine in
            try machine.install(watchFile, settings)
            try body(machine)
        }
    }

    /// Without watchd. Where no manager can be booted, nothing is tested.
    static func bare(
        sourceLocation: SourceLocation = #_sourceLocation, _ body: (Machine) throws -> Void
    ) throws {
        try Folder.with { folder in
            let machine = Machine(folder: folder)
            let start = try machine.tool("start")
            defer { _ = try? machine.tool("kill") }
            if start.code == 77 { return print("SKIPPED: \(start.errorText.replacing("\n", with: ""))") }
            try #require(start.code == 0, "\(start)", sourceLocation: sourceLocation)
            do {
                // Its root is the host's, where watchd may have run.
                let folders = ["/etc/watchd", "/var/lib/watchd", "/var/log/watchd"]
                try #require(try machine.run(["rm", "-rf"] + folders).code == 0)
                try body(machine)
            } catch {
                let journal = try machine.run("journalctl", "-u", "watchd*").text
                Issue.record(error, log: journal, sourceLocation: sourceLocation)
            }
        }
    }

    func tool(_ words: String..., input: String = "") throws -> Finished {
        try Program.run(["bash", script, state] + words, input: input)
    }

    func run(_ words: String...) throws -> Finished { try run(words) }

    func run(_ words: [String]) throws -> Finished {
        try Program.run(["bash", script, state, "exec"] + words)
    }

    /// Lines of a shell, in a folder where the machine has this repository.
    func type(_ lines: [String], sourceLocation: SourceLocation = #_sourceLocation) throws {
        for line in lines {
            let end = try run("sh", "-euc", "mkdir -p /repository; cd /repository; \(line)")
            #expect(end.code == 0, "\(line): \(end)", sourceLocation: sourceLocation)
        }
    }

    /// The manager does nothing meanwhile, and answers nobody.
    func frozen(_ body: () throws -> Void) throws {
        let text = String(decoding: try Linux.readFile("\(state)/manager"), as: UTF8.self)
        let manager = try #require(Int32(text.replacing("\n", with: "")))
        kill(manager, SIGSTOP)
        defer { kill(manager, SIGCONT) }
        try body()
    }

    func write(_ path: String, _ text: String) throws {
        try folder.write("file", text)
        let end = try tool("put", folder["file"], path)
        #expect(end.code == 0, "\(end)")
    }

    func property(_ name: String) throws -> String {
        try run("systemctl", "show", "--value", "--property", name, "watchd.service").text
            .replacing("\n", with: "")
    }

    /// A process id that a handler has written to a file; waits for it.
    func process(in file: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        var id = ""
        try wait(for: file, sourceLocation: sourceLocation) {
            id = try run("cat", file).text
            return id.hasSuffix("\n")
        }
        return id.replacing("\n", with: "")
    }

    func isAlive(_ process: String) throws -> Bool { try run("kill", "-0", process).code == 0 }

    private func install(_ watchFile: String, _ settings: String) throws {
        try folder.write("watch", watchFile)
        // A hang is to be found out in a test's time.
        try folder.write("settings", "[Service]\nWatchdogSec=10s\nTimeoutAbortSec=2s\n\(settings)\n")
        let files = [
            (try Products.path("watchd"), "/usr/bin/watchd"), (try Products.path("watchctl"), "/usr/bin/watchctl"),
            ("\(Repository.root)/systemd/watchd.service", "/etc/systemd/system/watchd.service"),
            ("\(Repository.root)/systemd/watchd-user.service", "/usr/lib/systemd/user/watchd.service"),
            ("\(Repository.root)/systemd/kill-left-handlers", "/usr/lib/watchd/kill-left-handlers"),
            ("\(Repository.root)/systemd/sysusers.conf", "/usr/lib/sysusers.d/watchd.conf"),
            ("\(Repository.root)/systemd/watchd.catalog", "/usr/lib/systemd/catalog/watchd.catalog"),
            (folder["watch"], "/etc/watchd/test.watch"),
            (folder["settings"], "/etc/systemd/system/watchd.service.d/test.conf"),
        ]
        let put = try Program.run(["bash", script, state, "put"] + files.flatMap { [$0, $1] })
        try #require(put.code == 0, "\(put)")
        for words in [["daemon-reload"], ["start", "watchd.service"]] {
            let end = try Program.run(["bash", script, state, "ctl"] + words)
            try #require(end.code == 0, "\(words): \(end)")
        }
    }
}
