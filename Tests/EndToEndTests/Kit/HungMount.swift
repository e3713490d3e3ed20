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

    /// A file system at `in/mnt` of another user: everybody else is refused at once, root too (`fuse(8)`, allow_other).
    static func strangersLauncher(_ folder: Folder) -> [String] {
        let script = script.replacing("user_id=0", with: "user_id=1").replacing("hung mnt", with: "hung in/mnt")
        return ["unshare", "--mount", "sh", "-c", script + " && exec 9>&- \"$@\"", folder.path]
    }

    /// The same, with a daemon that answers until there is a file `hang`: a folder with the files `f` and `g`, which are
    /// empty, and the folder `d`, which holds the same. It writes a line into `hung` for each question that it leaves.
    static func answeringLauncher(_ folder: Folder) -> [String] {
        ["unshare", "--mount", "sh", "-c", answeringScript + " && exec 9>&- \"$@\"", folder.path]
    }

    private static let answeringScript = script.replacing("sleep 300 </dev/null", with: "python3 server </dev/null")

    /// `fuse(4)`, `linux/fuse.h`
    static let server = """
        import os, struct
        def attributes(node):
            folder = node in (1, 4)
            return struct.pack("<6Q10I", node, 0, 0, 9, 9, 9, 0, 0, 0, 0o40755 if folder else 0o100644, 1, 0, 0, 0, 4096, 0)
        def answer(code, node, body):
            if code == 26: return struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 16, 12, 4096, 1, 1, *[0] * 9)
            if code == 3: return struct.pack("<QII", 0, 0, 0) + attributes(node)
            if code == 1:
                found = {b"f": 2, b"g": 3, b"d": 4}.get(body.rstrip(bytes(1)))
                if not found or (node == 4 and found == 4): return -2
                return struct.pack("<4Q2I", found, 0, 0, 0, 0, 0) + attributes(found)
            if code in (14, 27): return struct.pack("<QII", 1, 0, 0)
            if code == 28:
                if struct.unpack("<QQ", body[:16])[1]: return b""
                names = [(2, b"f", 8), (3, b"g", 8)] + ([(4, b"d", 4)] if node == 1 else [])
                return b"".join(
                    struct.pack("<QQII", n, i + 1, 1, kind) + name + bytes(7) for i, (n, name, kind) in enumerate(names))
            if code == 15: return b""
            if code == 17: return struct.pack("<5Q10I", *[0] * 5, 4096, 255, 4096, *[0] * 7)
            if code in (18, 25, 29): return b""
            return -38
        while True:
            question = os.read(9, 200000)
            size, code, unique, node = struct.unpack("<IIQQ", question[:24])
            if code in (2, 36, 42): continue
            if os.path.exists("hang"):
                with open("hung", "a") as file: file.write("%d\\n" % code)
                continue
            said = answer(code, node, question[40:])
            error, said = (said, b"") if isinstance(said, int) else (0, said)
            os.write(9, struct.pack("<IiQ", 16 + len(said), error, unique) + said)

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
