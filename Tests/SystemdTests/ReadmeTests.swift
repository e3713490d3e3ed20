import LinuxSystem
import ProgramKit
import Testing

/// README's installation and its first job, as root types them under a real manager.
@Suite("README, as a service", .serialized) struct ReadmeTests {
    @Test func theInstallationAndTheFirstJobWorkAsTheyAreWritten() throws {
        let readme = try Readme(root: Repository.root)
        try Machine.with("") { machine in
            try Self.putRepository(in: machine)
            try Self.type(try readme.block("Install"), machine)
            #expect(try machine.run("systemctl", "is-enabled", "watchd.service").text == "enabled\n")
            #expect(try machine.run("cat", "/usr/share/man/man5/watchd.watch.5").text.hasPrefix(".Dd "))
            try Self.type(try readme.block("The first job of your own"), machine)
            #expect(try machine.run("watchctl", "output", "disk").text.contains("Filesystem"))
            try Self.type(try readme.block("Asking why"), machine)
        }
    }

    /// What the commands name, in a folder of the machine.
    private static func putRepository(in machine: Machine) throws {
        #expect(try machine.run("mkdir", "-p", "/repository/.build/release").code == 0)
        for name in ["systemd", "config", "config/man"] {
            #expect(try machine.run("mkdir", "-p", "/repository/\(name)").code == 0)
            for entry in try Linux.readFolder("\(Repository.root)/\(name)") where entry.kind == .regular {
                let file = "\(name)/\(String(decoding: entry.name, as: UTF8.self))"
                try put("\(Repository.root)/\(file)", file, machine)
            }
        }
        for program in ["watchd", "watchctl"] {
            try put(try Products.path(program), ".build/release/\(program)", machine)
        }
    }

    private static func put(_ file: String, _ place: String, _ machine: Machine) throws {
        let end = try machine.tool("put", file, "/repository/\(place)")
        #expect(end.code == 0, "\(end)")
    }

    private static func type(_ lines: [String], _ machine: Machine) throws {
        for line in lines {
            let end = try machine.run("sh", "-euc", "cd /repository; \(line)")
            #expect(end.code == 0, "\(line): \(end)")
        }
    }
}
