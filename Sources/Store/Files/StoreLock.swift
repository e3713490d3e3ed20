import LinuxSystem

/// The lock of a folder: for as long as this lives, or its process, nobody else gets it. Its file says who has it,
/// whether a store was ever open there, and how many commits it was given:
///
///     0000001234                      the process
///     00000000000000000042 used       commits; without them an earlier version wrote it
///
/// The commits are counted in the store itself as well. So one that has lost some, since its log was emptied or an
/// older file was put there, is known by it. The number is written after the commit is safe and is not synced: it may
/// say fewer after a crash, and never more than were made.
final class StoreLock {
    private static let mark = Array("used\n".utf8)
    /// Bytes of the line that names the process, and of a number in the next one.
    private static let processLine = 11
    private static let digits = 20

    private let files: StoreFiles
    private var descriptor: FileDescriptor?
    /// A store was open there before.
    private(set) var wasUsed = false
    /// The commits it was given until now, as far as that is known.
    private(set) var commits: Int64?

    init(_ files: StoreFiles) throws(StoreError) {
        self.files = files
        do throws(SystemError) {
            descriptor = try Linux.open(
                files.lock, [.readingAndWriting, .creating, .noFollow, .nonBlocking, .noControllingTerminal],
                mode: 0o600)
        } catch {
            throw error.errno == .isFolder ? .notAFile(path: files.lock) : StoreError(error, files.lock)
        }
        do throws(StoreError) {
            try take()
        } catch {
            descriptor.take()?.close()
            throw error
        }
    }

    deinit {
        if let number = descriptor.number { Linux.unlock(number) }
        descriptor.take()?.close()
    }

    /// So many commits are safe: from now on a store that has fewer is known to be an older one, and an empty file is
    /// no new one.
    func note(commits count: Int64) {
        commits = count
        guard let number = descriptor.number else { return }
        let line = Self.zeroed(count, Self.digits) + [UInt8(ascii: " ")] + Self.mark
        // Where it cannot be written, less is noticed later.
        _ = try? Linux.write(number, line, at: Int64(Self.processLine))
    }

    private func take() throws(StoreError) {
        guard let number = descriptor.number else { return }
        let status: FileStatus
        do throws(SystemError) { status = try Linux.fstat(number) } catch { throw StoreError(error, files.lock) }
        try files.inspect(files.lock, status)
        let holder: Int32?
        do throws(SystemError) {
            holder = try Linux.livingHolder { () throws(SystemError) in
                try Linux.flock(number) ? nil : Self.process(try Self.text(number))
            }
            if holder == nil { try enter(number) }
        } catch {
            throw StoreError(error, files.lock)
        }
        if let holder { throw .locked(folder: files.folder, pid: holder == 0 ? nil : holder) }
    }

    private func enter(_ number: Int32) throws(SystemError) {
        let text = try Self.text(number)
        wasUsed = text.suffix(Self.mark.count) == Self.mark[...]
        commits = wasUsed ? Self.commits(text) : nil
        let process = Self.zeroed(Int64(Linux.processID), Self.processLine - 1)
        try Linux.write(number, process + [UInt8(ascii: "\n")], at: 0)
    }

    // MARK: The file

    private static func text(_ descriptor: Int32) throws(SystemError) -> [UInt8] {
        try Linux.read(descriptor, atMost: 64, from: 0)
    }

    /// The process that it names; 0: none.
    private static func process(_ text: [UInt8]) -> Int32 {
        Int32(clamping: number(text.prefix { $0 != UInt8(ascii: "\n") }) ?? 0)
    }

    private static func commits(_ text: [UInt8]) -> Int64? {
        let number = text.dropFirst(processLine).prefix(digits)
        return number.count == digits ? Self.number(number) : nil
    }

    private static func number(_ digits: some Collection<UInt8>) -> Int64? {
        Int64(String(decoding: digits, as: UTF8.self))
    }

    /// Of fixed width, so that nothing of a longer number stays.
    private static func zeroed(_ number: Int64, _ width: Int) -> [UInt8] {
        var (rest, digits) = (number, [UInt8](repeating: UInt8(ascii: "0"), count: width))
        for index in digits.indices.reversed() {
            digits[index] += UInt8(rest % 10)
            rest /= 10
        }
        return digits
    }
}
