import LinuxSystem

/// The programs that take part, as paths: those of the benchmark stand beside it.
struct Programs {
    let watchd: String
    let floor: String
    let handler: String

    /// - Parameter watchd: `nil`: that beside the benchmark.
    /// - Throws: `Failure`, when one is not there or cannot be executed.
    init(watchd: String?) throws {
        let own = String(decoding: try Linux.readlink("/proc/self/exe"), as: UTF8.self)
        let folder = own[..<(own.lastIndex(of: "/") ?? own.startIndex)]
        func beside(_ name: String) throws -> String { try Self.checked("\(folder)/\(name)") }
        self.watchd = try watchd.map { try Self.checked($0.hasPrefix("/") ? $0 : "./\($0)") } ?? beside("watchd")
        floor = try beside("watchd-bench-floor")
        handler = try beside("watchd-bench-handler")
    }

    private static func checked(_ path: String) throws(Failure) -> String {
        guard (try? Linux.access(path, .executing)) != nil, (try? Linux.stat(path))?.kind == .regular else {
            throw Failure(
                message: "there is no program \(path); build with swift build -c release --static-swift-stdlib")
        }
        return path
    }
}
