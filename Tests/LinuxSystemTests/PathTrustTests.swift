import LinuxSystem
import ProgramKit
import Testing

@Suite("Path trust") struct PathTrustTests {
    static let isRoot = Linux.effectiveUserID == 0
    private let stranger: UInt32 = 12_345

    private func finding(_ path: String, user: UInt32 = Linux.effectiveUserID) throws -> String? {
        try PathTrust(user: user).flaw(above: path)?.description
    }

    @Test func aFolderOfOursIsTrustedUnderAStickyOne() throws {
        try Folder.with { folder in
            try folder.write("file", "")
            #expect(try finding(folder["file"]) == nil)
            #expect(try finding(folder["./../\(folder.path.split(separator: "/").last ?? "")/file"]) == nil)
        }
    }

    @Test func aFolderThatOthersMayWriteIsNamed() throws {
        try Folder.with { folder in
            try folder.makeFolder("open")
            try folder.makeFolder("open/inner")
            try folder.write("open/inner/file", "")
            try Linux.chmod(folder["open"], 0o777)
            #expect(try finding(folder["open/inner/file"]) == "\(folder["open"]) may be written by others")
            #expect(try PathTrust(refusedPermissions: 0).flaw(above: folder["open/inner/file"]) == nil)
            try Linux.chmod(folder["open"], 0o1777)
            #expect(try finding(folder["open/inner/file"]) == nil)
        }
    }

    @Test func theWayOfALinkIsLookedAt() throws {
        try Folder.with { folder in
            try folder.makeFolder("open")
            try folder.write("open/file", "")
            try Linux.chmod(folder["open"], 0o775)
            for (link, target) in [("relative", "open/file"), ("absolute", folder["open/file"]), ("again", "relative")]
            {
                try Linux.symlink(folder[link], to: target)
                #expect(try finding(folder[link]) == "\(folder["open"]) may be written by others")
            }
            try Linux.symlink(folder["loop"], to: "loop")
            #expect(throws: SystemError.self) { try finding(folder["loop"]) }
            #expect(throws: SystemError.self) { try finding(folder["none"]) }
        }
    }

    @Test(.enabled(if: isRoot, "only root can make files of others")) func whatBelongsToOthersIsNamed() throws {
        try Folder.with { folder in
            try folder.makeFolder("theirs")
            try folder.write("theirs/file", "")
            try folder.makeFolder("open")
            try folder.write("open/file", "")
            try Linux.chown(folder["theirs"], user: stranger, group: nil)
            try Linux.chmod(folder["open"], 0o1777)
            try Linux.chown(folder["open/file"], user: stranger, group: nil)
            #expect(try finding(folder["theirs/file"]) == "\(folder["theirs"]) belongs to user 12345")
            #expect(try finding(folder["theirs/file"], user: stranger) == nil)
            // Its owner can replace it there, sticky or not.
            #expect(try finding(folder["open/file"]) == "\(folder["open/file"]) belongs to user 12345")
            let status = try Linux.lstat(folder["open/file"])
            #expect(PathTrust(user: 0).flaw(of: status) == .owner(stranger))
            #expect(PathTrust(user: stranger).flaw(of: status) == nil)
            #expect(PathTrust(user: 0).flaw(of: try Linux.lstat(folder["open"])) == .writable)
        }
    }
}
