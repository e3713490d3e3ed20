import LinuxSystem
import ProgramKit
import Testing

/// README's first job, as root types it beside the service under a real manager; `PackageTests` types its installation.
@Suite("README, as a service", .ownThreadChain, .serialized) struct ReadmeTests {
    @Test func theFirstJobWorksAsItIsWritten() throws {
        let readme = try Readme(root: Repository.root)
        try Machine.with("") { machine in
            try machine.type(try readme.block("The first job of your own"))
            #expect(try machine.run("watchctl", "output", "disk").text.contains("Filesystem"))
            try machine.type(try readme.block("Asking why"))
        }
    }
}
