import LinuxSystem
import ProgramKit

/// A FUSE file system at `mnt` that shows the files of `back`, with new inode numbers at each look, in a mount
/// namespace that only watchd sees. What changes in `back` nobody tells of in `mnt`; while a file `hang` is there, it
/// does not answer.
enum MirrorMount {
    /// Words before watchd's own.
    static func launcher(_ folder: Folder) -> [String] {
        ["unshare", "--mount", "sh", "-c", script + " && exec 9>&- \"$@\"", folder.path]
    }

    private static let script = """
        cd "$0" && exec 9<>/dev/fuse \
        && mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 mirror mnt \
        && { python3 mirror.py </dev/null >mirror.log 2>&1 & echo $! > holder; } && cd /
        """

    /// Runs `body` with a folder where that can be done.
    static func with(_ body: (Folder) throws -> Void) throws {
        try Folder.with { folder in
            for name in ["mnt", "back"] { try folder.makeFolder(name) }
            try folder.write("mirror.py", daemon)
            let trial = try Program.run(Array(launcher(folder)) + ["ls", folder["mnt"]])
            HungMount.end(folder)
            guard trial.code == 0 else { return print("not tested: no FUSE mount of one's own here: \(trial)") }
            try Linux.unlink(folder["holder"])
            defer { HungMount.end(folder) }
            try body(folder)
        }
    }

    /// `fuse(4)`, as `linux/fuse.h` has it.
    private static let daemon = #"""
        import os, select, struct, time
        nodes, paths, inode = {}, {1: "back"}, 1000

        def attributes(node):
            global inode
            status = os.stat(paths[node])
            inode += 1
            times = [int(t) for t in (status.st_atime, status.st_mtime, status.st_ctime)]
            parts = [t % 10**9 for t in (status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)]
            return struct.pack("<6Q10I", 1 if node == 1 else inode, status.st_size, 0, *times, *parts, status.st_mode,
                               status.st_nlink, 0, 0, 0, 4096, 0)

        def answer(code, node, body):
            if code == 26: return struct.pack("<4I2H2I2HI7I", 7, 31, 65536, 0, 0, 0, 4096, 1, 0, 0, 0, *[0] * 7)
            if code == 1:
                path = paths[node] + "/" + body[:-1].decode()
                os.stat(path)
                if path not in nodes:
                    nodes[path] = len(nodes) + 2
                    paths[nodes[path]] = path
                return struct.pack("<4Q2I", nodes[path], 0, 0, 0, 0, 0) + attributes(nodes[path])
            if code == 3: return struct.pack("<Q2I", 0, 0, 0) + attributes(node)
            if code in (14, 27): return struct.pack("<Q2I", 0, 0, 0)
            if code == 17: return struct.pack("<5Q4I6I", *[0] * 5, 4096, 255, 4096, 0, *[0] * 6)
            if code == 15:
                _, offset, size = struct.unpack("<QQI", body[:20])
                return open(paths[node], "rb").read()[offset:offset + size]
            if code == 28:
                _, offset, size = struct.unpack("<QQI", body[:20])
                listed = b""
                for index, name in enumerate(sorted(os.listdir(paths[node]))[offset:], offset + 1):
                    entry = struct.pack("<2Q2I", 99, index, len(name), 0) + name.encode()
                    entry += b"\0" * (-len(entry) % 8)
                    if len(listed) + len(entry) > size: break
                    listed += entry
                return listed
            if code in (18, 25, 29, 34): return b""
            raise OSError(38, "not here")

        while True:
            # What it has not taken can be given up by whoever asks.
            if os.path.exists("hang") or not select.select([9], [], [], 0.02)[0]:
                time.sleep(0.001)
                continue
            asked = os.read(9, 1 << 20)
            size, code, unique, node = struct.unpack("<IIQQ", asked[:24])
            if code in (2, 36, 42): continue
            try: error, said = 0, answer(code, node, asked[40:])
            except OSError as found: error, said = found.errno, b""
            try: os.write(9, struct.pack("<IiQ", 16 + len(said), -error, unique) + said)
            except OSError: pass
        """#
}
