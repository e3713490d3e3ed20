import Glibc
import LinuxSystem

/// Proves that the threads of this process have come to rest: whatever they had to do without being asked is done.
///
/// The kernel counts for each thread how often it was switched off its CPU. Two looks at every thread but the caller's
/// that both find it asleep, with the same count, mean that it slept from the one look to the other; where all did,
/// there was an instant between the looks at which every one was asleep. From then on only the caller, a signal or a
/// timer can wake one. A thread that is woken counts as running before its waker returns from the system call
/// (`try_to_wake_up`), and one that naps (libdispatch does, while it waits for a short lock) does not count as asleep.
///
/// It holds for a process in which nothing else goes on: the oracle's tests have one of their own.
struct Standstill {
    /// What did not come to rest.
    struct Restless: Error, CustomStringConvertible {
        var description: String
    }

    /// How long the process may take to come to rest, in seconds: only a broken test needs so long.
    private static let limit: Int64 = 60

    /// Returns when the process has come to rest.
    static func wait() throws(Restless) {
        let deadline = Linux.now(.monotonic) + limit * 1_000_000
        let own = ownThread()
        var last: [[UInt8]: ArraySlice<UInt8>]?
        while Linux.now(.monotonic) < deadline {
            let counts = look(but: own)
            if let counts, counts == last, !isNapping(counts.keys) { return }
            last = counts
            if counts == nil { sched_yield() }
        }
        throw Restless(description: "the process did not come to rest in \(limit) s")
    }

    /// How often each thread but `own` was switched off; `nil`: one of them is awake.
    private static func look(but own: [UInt8]) -> [[UInt8]: ArraySlice<UInt8>]? {
        guard let threads = try? Linux.readFolder("/proc/self/task") else { return nil }
        var counts: [[UInt8]: ArraySlice<UInt8>] = [:]
        for thread in threads where thread.name != own {
            guard let count = switches(of: thread.name) else { return nil }
            counts[thread.name] = count
        }
        return counts
    }

    /// The end of a thread's `status` (proc_pid_status(5)), where its counts stand; `nil`: it is awake, or gone.
    private static func switches(of thread: [UInt8]) -> ArraySlice<UInt8>? {
        let path = Array("/proc/self/task/".utf8) + thread + Array("/status".utf8)
        guard let status = try? Linux.readFile(path), let tab = index(of: "\nState:\t", in: status),
            status[tab] == UInt8(ascii: "S"), let counts = index(of: "\nvoluntary_ctxt_switches:", in: status)
        else { return nil }
        return status[counts...]
    }

    /// Behind the first place of `text`.
    private static func index(of text: String, in bytes: [UInt8]) -> Int? {
        (bytes + [0]).withUnsafeBufferPointer { area in
            area.withMemoryRebound(to: CChar.self) { area in
                guard let start = area.baseAddress, let found = strstr(start, text) else { return nil }
                return found - UnsafeMutablePointer(mutating: start) + strlen(text)
            }
        }
    }

    /// The caller's number, as its folder in `/proc/self/task` is called.
    private static func ownThread() -> [UInt8] {
        guard let path = realpath("/proc/thread-self", nil) else { return [] }
        defer { free(path) }
        return String(cString: path).split(separator: "/").last.map { Array($0.utf8) } ?? []
    }

    private static func isNapping(_ threads: some Sequence<[UInt8]>) -> Bool {
        threads.contains { thread in
            let place = (try? Linux.readFile(Array("/proc/self/task/".utf8) + thread + Array("/wchan".utf8))) ?? []
            return index(of: "nanosleep", in: place) != nil
        }
    }
}
