import Glibc
import LinuxSystem

/// Who watches files in a benchmark, and writes a line for each that was closed after writing.
enum Watcher: String, CaseIterable, Encodable {
    case watchd
    /// `watchd-bench-floor`: the least that does it, in C.
    case floor
    case inotifywait
    /// Starts a command for each file, and sees one folder only.
    case incron
    case watchman

    private var program: String? {
        switch self {
        case .watchd, .floor: nil
        case .inotifywait: "/usr/bin/inotifywait"
        case .incron: "/usr/sbin/incrond"
        case .watchman: "/usr/bin/watchman"
        }
    }

    var isInstalled: Bool { program.map { (try? Linux.access($0, .executing)) != nil } ?? true }

    /// Why it does not take part; `nil`: it does.
    func absence(isTree: Bool) -> String? {
        if self == .watchman { return isInstalled ? "it has no part in this" : "not installed here" }
        if !isInstalled { return "not installed here" }
        if self == .incron, isTree { return "it is not recursive" }
        if self == .incron, Linux.userID != 0 { return "it needs root" }
        return nil
    }

    /// Starts it for a folder, with everything below, and waits until it is ready.
    ///
    /// - Parameters:
    ///   - told: the file that it writes lines to.
    ///   - keys: further lines of watchd's source.
    func start(
        on target: String, told: String, _ folder: String, _ programs: Programs, _ bed: Bed, keys: String = ""
    ) throws -> Daemon {
        switch self {
        case .watchd:
            let file = "\(folder)/bench.watch"
            try Self.write(Self.watchFile(target, told, folder, keys), to: file)
            return try Daemon("watchd", [programs.watchd, file], bed: bed, patience: Self.patience)
        case .floor:
            return try Daemon("floor", [programs.floor, "tree", target, told], bed: bed, patience: Self.patience)
        case .inotifywait: return try script(Self.inotifywaitScript, [target, told, folder], bed)
        case .incron:
            try makeIncron(target, told, folder)
            return try script(Self.incronScript, [target, told, folder], bed)
        case .watchman: throw Failure(message: "watchman has no part in this")
        }
    }

    /// ms to be ready in: a large tree takes its time.
    private static let patience = 600_000

    private func script(_ text: String, _ arguments: [String], _ bed: Bed) throws -> Daemon {
        try Daemon(rawValue, ["/bin/sh", "-c", text, "sh"] + arguments, bed: bed, patience: Self.patience)
    }

    private static func write(_ text: String, to file: String) throws {
        try Linux.open(file, [.writing, .creating, .truncating], mode: 0o600).use {
            try Linux.writeAll($0, text.utf8)
        }
    }

    /// One operation runs, and what comes meanwhile joins the next.
    private static func watchFile(_ target: String, _ told: String, _ folder: String, _ keys: String) -> String {
        """
        [Watchd]
        ControlSocket=\(folder)/control
        StateDirectory=\(folder)/state
        MaxOperations=1000000000
        MaxMemory=1024G
        MaxWatches=100%
        [Queue files]
        Backlog=1000000000
        BacklogBytes=1024G
        [Path files]
        Path=\(target)
        Recursive=yes
        Key=
        Coalesce=yes
        Queue=files
        Exec=/bin/cat
        StandardInput=paths
        StandardOutput=append:\(told)
        \(keys)

        """
    }

    /// $1 the folder, $2 the file of lines, $3 a folder of its own.
    private static let inotifywaitScript = """
        trap 'trap - TERM; kill 0' TERM
        mkfifo "$3/ready"
        inotifywait -m -r -e close_write --format %w%f "$1" >"$2" 2>"$3/ready" &
        grep -q established <"$3/ready"
        systemd-notify --ready
        wait
        """

    private static let incronScript = """
        trap 'trap - TERM; kill 0' TERM
        /usr/sbin/incrond -n -f "$3/incron.conf" &
        until grep -qs 'inotify wd' /proc/$!/fdinfo/*; do sleep 0.1; done
        systemd-notify --ready
        wait
        """

    private func makeIncron(_ target: String, _ told: String, _ folder: String) throws {
        for name in ["system", "users"] { try Linux.mkdir("\(folder)/\(name)") }
        try Self.write("#!/bin/sh\necho \"$1\" >>\(told)\n", to: "\(folder)/tell")
        try Linux.chmod("\(folder)/tell", 0o700)
        try Self.write("\(target) IN_CLOSE_WRITE \(folder)/tell $@/$#\n", to: "\(folder)/system/bench")
        try Self.write(
            """
            system_table_dir = \(folder)/system
            user_table_dir = \(folder)/users
            allowed_users = \(folder)/allow
            denied_users = \(folder)/deny
            lockfile_dir = \(folder)
            lockfile_name = lock

            """, to: "\(folder)/incron.conf")
    }
}

/// Lines of a file, counted as they come.
struct ToldLines {
    let path: String

    init(_ path: String) throws {
        self.path = path
        try Linux.open(path, [.writing, .creating, .truncating]).close()
    }

    var size: Int { (try? Linux.stat(path)).map { Int($0.size) } ?? 0 }

    /// The last component of each.
    var names: [[UInt8]] {
        let text = (try? Linux.readFile(path, limit: 1 << 30)) ?? []
        return text.split(separator: UInt8(ascii: "\n")).map { line in
            line.lastIndex(of: UInt8(ascii: "/")).map { Array(line[($0 + 1)...]) } ?? Array(line)
        }
    }

    var count: Int { names.count }

    /// Waits until nothing has come for so long.
    ///
    /// - Returns: µs at which something came last.
    func waitUntilQuiet(_ milliseconds: Int, _ bed: Bed) throws -> Int64 {
        var (last, size) = (Bed.now, size)
        while Bed.now - last < Int64(milliseconds) * 1000 {
            try bed.pause(milliseconds: 10)
            let now = self.size
            if now != size { (last, size) = (Bed.now, now) }
        }
        return last
    }
}
