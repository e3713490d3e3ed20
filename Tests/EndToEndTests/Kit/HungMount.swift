import LinuxSystem
import ProgramKit

/// A FUSE file system at `mnt` whose daemon never answers, in a mount namespace that only watchd sees. So nothing of
/// the test can hang.
enum HungMount {
    /// Words before watchd's own. Whoever holds the file system open writes its process number to `holder`.
    static func launcher(_ folder: Folder) -> [String] {
        ["unshare", "--mount", "sh", "-c", script + " && exec 9>&- \"$@\"", folder.path]
    }

    private static let script = """
        cd "$0" && exec 9<>/dev/fuse \
        && mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 hung mnt \
        && { sleep 300 </dev/null >/dev/null 2>&1 & echo $! > holder; } && cd /
        """

    /// Runs `body` with a folder where that can be done.
    static func with(_ body: (Folder) throws -> Void) throws {
        try Folder.with { folder in
            try folder.makeFolder("mnt")
            let trial = try Program.run(Array(launcher(folder)) + ["true"])
            end(folder)
            guard trial.code == 0 else { return print("not tested: no FUSE mount of one's own here: \(trial)") }
            try Linux.unlink(folder["holder"])
            defer { end(folder) }
            try body(folder)
        }
    }

    /// Its daemon ends: what hangs gets ENOTCONN.
    static func end(_ folder: Folder) {
        guard let holder = Int32(folder.text("holder").filter(\.isNumber)), holder > 1 else { return }
        _ = try? Program.run(["kill", "-9", "\(holder)"])
    }

    /// Takes it away from that watchd.
    ///
    /// - Parameter isLazy: though it is in use.
    static func unmount(_ watchd: Watchd, isLazy: Bool = false) throws -> Finished {
        let words = ["nsenter", "--target", "\(watchd.processID)", "--mount", "umount"] + (isLazy ? ["--lazy"] : [])
        return try Program.run(words + [watchd.folder["mnt"]])
    }
}
