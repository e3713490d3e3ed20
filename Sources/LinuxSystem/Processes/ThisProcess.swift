import CLinux
import Glibc

extension Linux {
    /// `getpid(2)`.
    package static var processID: Int32 { getpid() }
    /// `getuid(2)`.
    package static var userID: UInt32 { getuid() }
    /// `geteuid(2)`.
    package static var effectiveUserID: UInt32 { geteuid() }
    /// `getegid(2)`.
    package static var effectiveGroupID: UInt32 { getegid() }

    /// `getpriority(2)`: the nice value of the calling thread.
    package static var nice: Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }

    /// `exit(3)`: from any thread.
    package static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

    /// `sched_getaffinity(2)`: the processors that this process may run on, at least 1.
    package static var processorCount: Int { Int(clinux_processor_count()) }

    /// Bytes of a page of memory (`sysconf(3)`).
    package static let pageSize = sysconf(Int32(_SC_PAGESIZE))

    /// `/proc/sys/kernel/random/boot_id`: other than that of any other boot. Empty where it cannot be read.
    package static var bootID: [UInt8] {
        let text = (try? readFile("/proc/sys/kernel/random/boot_id", limit: 64)) ?? []
        return text.filter { $0 != UInt8(ascii: "\n") }
    }

    /// `prctl(2)` PR_SET_NAME: the calling thread's name, of which 15 bytes count.
    package static func setThreadName(_ name: String) { _ = clinux_set_thread_name(name) }

    /// `mallopt(3)` M_ARENA_MAX: threads share this many arenas of the allocator. To be called before other threads
    /// exist.
    package static func limitArenas(_ count: Int32) { clinux_limit_arenas(count) }

    /// `mallinfo2(3)`: bytes that the allocator has given out.
    package static var allocatedBytes: Int { Int(clinux_allocated_bytes()) }

    /// `malloc_trim(3)`: gives free memory back to the kernel. Takes milliseconds where much was used.
    package static func trimMemory() { clinux_trim_memory() }

    /// Unmaps the code of the program and its libraries; what runs of it is mapped again. A start runs four times as
    /// much as events do. Not under a debugger, whose breakpoints are written into the code.
    package static func unmapCode() {
        guard status("TracerPid:") == "0" else { return }
        clinux_unmap_code()
    }

    /// The bits that files are made without (`umask(2)`), as `/proc/self/status` tells them; `nil`: it does not.
    package static var fileModeMask: UInt32? { status("Umask:").flatMap { UInt32($0, radix: 8) } }

    /// The value behind the label in `/proc/self/status`; `nil`: it does not tell it.
    private static func status(_ label: StaticString) -> String? {
        let text = (try? readFile("/proc/self/status", limit: 1 << 16)) ?? []
        let label = [UInt8](label.description.utf8)
        let line = text.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: label) }
        return line.map { String(decoding: $0.dropFirst(label.count).drop { $0 == 9 || $0 == 32 }, as: UTF8.self) }
    }

    /// The environment of this process, `NAME=VALUE` each.
    package static func environment() -> [[UInt8]] { strings(clinux_environment()) }

    /// `setenv(3)`; before any other thread exists.
    /// - Parameter isReplacing: also where it is set already.
    package static func setEnvironment(_ name: String, _ value: String, isReplacing: Bool = false) {
        setenv(name, value, isReplacing ? 1 : 0)
    }

    /// The arguments of `main` after the program's name, byte for byte. `CommandLine.arguments` reads `/proc`, which
    /// may be hidden, and repairs what is not UTF-8.
    package static var arguments: [[UInt8]] { Array(strings(clinux_arguments()).dropFirst()) }

    /// The last part of the name by which the program was called.
    package static var programName: [UInt8] {
        strings(clinux_arguments()).first.flatMap { $0.split(separator: UInt8(ascii: "/")).last }.map(Array.init) ?? []
    }

    private static func strings(_ strings: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> [[UInt8]] {
        guard let strings else { return [] }
        var result: [[UInt8]] = []
        var next = strings
        while let string = next.pointee {
            result.append(Array(UnsafeRawBufferPointer(start: string, count: strlen(string))))
            next += 1
        }
        return result
    }

    /// `getenv(3)`: `nil` when it is not set.
    package static func environment(_ name: String) -> [UInt8]? {
        getenv(name).map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
    }

    /// `getrlimit(2)` RLIMIT_NOFILE: how many descriptors there may be, now and at most.
    package static func openFileLimit() throws(SystemError) -> (soft: UInt64, hard: UInt64) {
        var limit = rlimit()
        try call("getrlimit RLIMIT_NOFILE") { getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
        return (UInt64(limit.rlim_cur), UInt64(limit.rlim_max))
    }

    /// `setrlimit(2)` RLIMIT_NOFILE: as many as are allowed at most. What `spawn` starts gets the limit of before. To
    /// be called before there are threads.
    package static func raiseOpenFileLimit() throws(SystemError) {
        try call("setrlimit RLIMIT_NOFILE") { clinux_raise_descriptor_limit() }
    }

    /// `setrlimit(2)` RLIMIT_NOFILE, the soft one.
    package static func setOpenFileLimit(_ soft: UInt64) throws(SystemError) {
        var limit = rlimit(rlim_cur: rlim_t(soft), rlim_max: rlim_t(try openFileLimit().hard))
        try call("setrlimit RLIMIT_NOFILE") { setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
    }

    /// `gethostname(2)`.
    package static var hostName: [UInt8] {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return [] }
        return name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    }

    /// `isatty(3)`.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// `ioctl(2)` TIOCGWINSZ: rows and columns of a terminal; `nil` where it is none, or has no size.
    package static func windowSize(_ descriptor: Int32) -> (rows: Int, columns: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_row), Int(size.ws_col))
    }
}
