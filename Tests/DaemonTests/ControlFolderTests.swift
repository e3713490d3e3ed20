import LinuxSystem
import ProgramKit
import Testing

@testable import Daemon

@Suite("Folder of the control socket")
struct ControlFolderTests {
    private func reason(_ folder: Folder, _ name: String) -> String? {
        do {
            try ControlListener.makeFolder(folder[name].pathBytes)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func itIsMadeAndTakenAgain() throws {
        try Folder.with { folder in
            #expect(reason(folder, "run") == nil)
            #expect(reason(folder, "run") == nil)
            let status = try Linux.lstat(folder["run"])
            #expect(status.permissions & 0o022 == 0)
        }
    }

    @Test func oneThatOthersMayWriteIsRefused() throws {
        try Folder.with { folder in
            try folder.makeFolder("run")
            for mode in [0o777, 0o1777, 0o720, 0o702] as [UInt32] {
                try Linux.chmod(folder["run"], mode)
                let told = "may be written by others (mode \(String(mode, radix: 8)))"
                #expect(reason(folder, "run")?.contains(told) == true)
            }
        }
    }

    @Test func aLinkToOneIsRefused() throws {
        try Folder.with { folder in
            try folder.makeFolder("elsewhere")
            try Linux.symlink(folder["run"], to: folder["elsewhere"])
            #expect(reason(folder, "run")?.contains("is a symbolic link") == true)
        }
    }
}
