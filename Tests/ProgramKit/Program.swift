import Glibc
package import LinuxSystem

/// A program that a test has started.
package final class Program {
    package let processID: Int32
    private var pidfd: FileDescriptor?
    /// How it ended, once that is known.
    package private(set) var status: ExitStatus?
    /// Processor time it has used, in microseconds, once it has ended: its own and that of children it waited for.
    package private(set) var processorTime: Int64?

    /// Starts a program, looked up in a usual `PATH` if it has no slash. The descriptors stay the caller's.
    package init(_ words: [[UInt8]], environment: [String], folder: String = "/", descriptors: [Int32]) throws {
        var path = words[0]
        if !path.contains(UInt8(ascii: "/")) {
            let folders = ["/usr/local/bin/", "/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"]
            path = folders.map { Array($0.utf8) + path }.first { (try? Linux.stat($0)) != nil } ?? path
        }
        let specification = SpawnSpecification(
            path: path, arguments: words, environment: environment.map { Array($0.utf8) },
            folder: Array(folder.utf8), descriptors: descriptors, umask: 0o022)
        let spawned = try Linux.spawn(specification)
        processID = spawned.processID
        pidfd = FileDescriptor(owning: spawned.pidfd.release())
    }

    deinit {
        if hasEnded { return }
        send(9)
        wait(seconds: 10)
        pidfd.take()?.close()
    }

    package var hasEnded: Bool {
        if status == nil { takeEnd() }
        if status != nil { pidfd.take()?.close() }
        return status != nil
    }

    /// `wait4(2)`, which tells the processor time of this one child; its number is its own until then.
    private func takeEnd() {
        var (code, usage): (Int32, rusage) = (0, rusage())
        guard wait4(processID, &code, WNOHANG, &usage) == processID else { return }
        status = ExitStatus(waitStatus: code)
        let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
        processorTime = Int64(seconds * 1_000_000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
    }

    package func send(_ signal: Int32) {
        guard let number else { return }
        // ESRCH: it has just ended.
        try? Linux.pidfdSendSignal(number, signal)
    }

    /// Waits for its end; `nil`: it still runs.
    @discardableResult package func wait(seconds: Int = 30) -> ExitStatus? {
        guard !hasEnded, let number else { return status }
        _ = try? Linux.poll(number, .readable, timeout: Int32(seconds) * 1000)
        _ = hasEnded
        return status
    }

    private var number: Int32? {
        switch pidfd {
        case .some(let pidfd): pidfd.rawValue
        case .none: nil
        }
    }
}

/// What a program that has ended said.
package struct Finished: Sendable, CustomStringConvertible {
    package var status: ExitStatus?
    package var output: [UInt8]
    package var errors: [UInt8]
    /// Processor time it has used, in microseconds; `nil`: no end in time.
    package var processorTime: Int64?

    package var text: String { String(decoding: output, as: UTF8.self) }
    package var errorText: String { String(decoding: errors, as: UTF8.self) }

    /// The exit status; `nil`: a signal, or no end in time.
    package var code: Int32? { if case .exited(let code) = status { code } else { nil } }

    package var description: String {
        "\(status.map { "\($0)" } ?? "no end in time")\n\(text)\n\(errorText)"
    }
}

extension Program {
    package static let environment = ["PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG=C.UTF-8"]

    /// Runs a program to its end, with this standard input; after a minute it is killed.
    package static func run(
        _ words: [String], environment: [String] = environment, folder: String = "/", input: String = "",
        seconds: Int = 60
    ) throws -> Finished {
        let output = try Linux.pipe().ends()
        let errors = try Linux.pipe().ends()
        let program: Program
        let given = try Linux.memfd(name: "input", Array(input.utf8)).release()
        do {
            defer { for end in [given, output.write, errors.write] { FileDescriptor(owning: end).close() } }
            program = try Program(
                words.map { Array($0.utf8) }, environment: environment, folder: folder,
                descriptors: [given, output.write, errors.write])
        }
        var streams = [output.read, errors.read]
        defer { for stream in streams where stream >= 0 { FileDescriptor(owning: stream).close() } }
        var said: [[UInt8]] = [[], []]
        let deadline = Linux.now(.monotonic) + Int64(seconds) * 1_000_000
        while let open = streams.firstIndex(where: { $0 >= 0 }), Linux.now(.monotonic) < deadline {
            // The first that is open; the other one is looked at in between.
            for index in streams.indices where streams[index] >= 0 {
                let isReady = try !Linux.poll(streams[index], .readable, timeout: index == open ? 20 : 0).isEmpty
                guard isReady else { continue }
                let bytes = try Linux.read(streams[index], atMost: 1 << 16)
                said[index] += bytes
                guard bytes.isEmpty else { continue }
                FileDescriptor(owning: streams[index]).close()
                streams[index] = -1
            }
        }
        let rest = max(0, deadline - Linux.now(.monotonic)) / 1_000_000
        let status = program.wait(seconds: Int(rest))
        return Finished(status: status, output: said[0], errors: said[1], processorTime: program.processorTime)
    }
}

extension Pipe {
    /// Its ends as numbers, to be closed one by one.
    package consuming func ends() -> (read: Int32, write: Int32) { (readEnd.release(), writeEnd.release()) }
}
