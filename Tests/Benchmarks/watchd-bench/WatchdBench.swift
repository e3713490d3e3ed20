// `watchd-bench`: what watchd costs, against the least that is possible.
//
// latency   An event is made, and a handler (a small static program) says when its `main` began. Both daemons, watchd
// as
//           it is shipped and the floor (`watchd-bench-floor`: epoll and posix_spawn in C), run side by side, get the
//           same kind of event and start the same handler, one event after the other in turn, so that both meet the same
//           machine. The time is taken by the handler before it does anything; how it is reported costs nothing.
// idle      What watchd does when nothing happens, just started and after a burst of runs, and how long it takes to
//           READY, for which the benchmark plays the service manager.
// queue     What a decision costs: the engine as a library, with the benchmark as its rim, in virtual time. Each
// operation
//           is submitted by an event of a path source, started, and ended, while a steady number of others wait (and
//           1 000 more in a suspended queue); one in 1 000 is a barrier. The engine never waits, so its time is that
//           which its thread was on a processor. The bytes are those that the allocator has given
//           out more when the line is full than when it was empty.
//           Beside it, in turn, Dispatch queues and Foundation's OperationQueue do the same work: operations that do
//           nothing, submitted to a suspended queue, which is then resumed. Ratios say more than rates on a shared
//           machine, and instructions say the same on each.
//
// timers    What a timer costs: `[Timer]` sources with `EverySec=` in the engine as a library, in real time, with one
// timerfd
//           and a handler that counts and ends at once (`Key=none`, or one handler would run for one timer after the
//           other); beside it, in turn, DispatchSourceTimers at the same instants on one serial queue. Late is what lies
//           between the instant it was due and the start of the handler. The bytes are those that the allocator has
//           given out more after all were made, and again for as many timers with `OnCalendar=`.
//
// calendar  What it costs to find the next elapse of a calendar expression, and that of one that never comes.
//
// exit      Many processes, not watchd's own, that are watched by pid files and all killed in one burst: time until the
// last
//           end has been told (a line of a Log= handler, counted in what watchd writes), and time on a processor for
//           each; beside it, in turn, a bare loop in this program: pidfds in an epoll set, and how each ended.
//
// store     What durability costs. Durable operations a second of watchd as it is shipped, for clients that each fire
// one
//           event after the other and wait for the reply, which comes when it is stored; beside it, in turn, the same
//           rows (tables and a row are copied from the daemon's file) written through SQLite in as many transactions of
//           the same size, with the same pragmas. Then the delay of a queue that is not durable, with the store at work
//           beside it; then start and history of a store with many operations and a long history.
//           Where others build beside it, `chrt --rr 1 watchd-bench store` gives both sides a processor when they need
//           one; without it the one thread of bare SQLite waits longer for one than watchd's many do.
// lines     Lines a second that watchd takes from a FIFO, each accepted by itself and joined to the operation that
// waits,
//           beside cat and beside an epoll loop in C that only looks for newlines.
//
// spawn     Operations that wait on a suspended queue, of a program that says when its main began, and then ends; the
//           queue is resumed. Counted are starts a second from the first begin to the last, and the time of the
//           daemon's threads on a processor for each run; beside it, in turn, an epoll loop in C that starts the same
//           program as often, as many at once.
//
// stream    Lines a second that a worker in C has read, from a FIFO and from four clients that each wait for a reply,
//           with and without an answer for each; beside it, in turn, a program in C that reads the FIFO and writes
//           what it has read to the same worker.
//
// peers     From the close of a file to the handler's `main`, beside a loop of inotifywait.
//
// burst     Many new files at once, as one process makes them, for one watcher after the other: each writes a line for each
//           file into a file of its own (inotifywait and the floor themselves, watchd and incron by a command), which is
//           read when nothing has come for 3 s. The processor's time is that of the watcher and of all that it starts.
//
// tree      From the start to READY=1 for a large tree that was listed before, so that the kernel has it in mind. The
//           memory is that of anonymous pages, for one folder, for all folders without files, and with files.
//
// checkout  Two branches in which all files differ; git changes from one to the other.
//
// budget    Ten operations on the way of an event, for `Tests/Benchmarks/check-budget`.
//
// All times are µs of CLOCK_MONOTONIC. Figures of rounds are given as their median and, in brackets, their range.

import Glibc
import JSON
import LinuxSystem
import Varlink

@main
enum WatchdBench {
    static func main() {
        do {
            try run(try Invocation(arguments: Array(CommandLine.arguments.dropFirst())))
        } catch let failure as Failure {
            say("watchd-bench: \(failure.message)", to: STDERR_FILENO)
            exit(failure.exitCode)
        } catch {
            say("watchd-bench: \(error)", to: STDERR_FILENO)
            exit(1)
        }
    }

    private static func run(_ invocation: Invocation) throws {
        if invocation.wantsHelp { return say(Invocation.usage, to: STDOUT_FILENO) }
        // Ended children go by themselves: for the end of a process nobody is to wait for the benchmark's own turn.
        Linux.ignoreSignal(SIGCHLD)
        Linux.ignoreSignal(SIGPIPE)
        if invocation.verb == .queue {
            if let side = invocation.queue.only {
                return try side.makeWork(width: invocation.queue.width).run(operations: invocation.queue.operations)
            }
            return show(try QueueBenchmark(invocation.queue).run(), asJSON: invocation.isJSON)
        }
        if invocation.verb == .timers {
            return show(try TimerBenchmark(invocation.timers).run(), asJSON: invocation.isJSON)
        }
        if invocation.verb == .calendar {
            return show(try CalendarBenchmark(invocation.calendar).run(), asJSON: invocation.isJSON)
        }
        if invocation.verb == .budget { return try BudgetBenchmark().run() }
        let programs = try Programs(watchd: invocation.watchd)
        let bed = try Bed()
        defer { bed.remove() }
        switch invocation.verb {
        case .latency:
            let benchmark = LatencyBenchmark(programs: programs, bed: bed, invocation.latency)
            show(try benchmark.run(), asJSON: invocation.isJSON)
        case .idle:
            let benchmark = IdleBenchmark(programs: programs, bed: bed, invocation.idle)
            show(try benchmark.run(), asJSON: invocation.isJSON)
        case .exit:
            let benchmark = ExitBenchmark(programs: programs, bed: bed, invocation.exit)
            show(try benchmark.run(), asJSON: invocation.isJSON)
        case .store:
            let benchmark = StoreBenchmark(programs: programs, bed: bed, invocation.store)
            show(try benchmark.run(), asJSON: invocation.isJSON)
        case .lines:
            let benchmark = LinesBenchmark(programs: programs, bed: bed, settings: invocation.lines)
            show(try benchmark.run(), asJSON: invocation.isJSON)
        case .spawn:
            let benchmark = SpawnBenchmark(programs: programs, bed: bed, settings: invocation.spawn)
            show(try benchmark.run(), asJSON: invocation.isJSON)
        case .stream:
            let benchmark = StreamBenchmark(programs: programs, bed: bed, settings: invocation.stream)
            show(try benchmark.run(), asJSON: invocation.isJSON)
        case .peers:
            let benchmark = PeersBenchmark(programs: programs, bed: bed, settings: invocation.latency)
            show(try benchmark.run(), asJSON: invocation.isJSON)
        case .burst:
            let benchmark = BurstBenchmark(programs: programs, bed: bed, settings: invocation.burst)
            show(try benchmark.run(), asJSON: invocation.isJSON)
        case .tree:
            let benchmark = TreeBenchmark(programs: programs, bed: bed, settings: invocation.tree)
            show(try benchmark.run(), asJSON: invocation.isJSON)
        case .checkout:
            let benchmark = CheckoutBenchmark(programs: programs, bed: bed, settings: invocation.checkout)
            show(try benchmark.run(), asJSON: invocation.isJSON)
        case .queue, .timers, .calendar, .budget: break
        }
    }

    private static func show(_ result: some Encodable & CustomStringConvertible, asJSON: Bool) {
        let json = asJSON ? (try? JSON.encode(result)).map { String(decoding: $0, as: UTF8.self) } : nil
        say(json ?? result.description, to: STDOUT_FILENO)
    }

    /// Where there is nobody to read it, nothing more can be done.
    static func say(_ text: String, to descriptor: Int32) {
        try? Linux.writeAll(descriptor, Array("\(text)\n".utf8))
    }
}
