import LinuxSystem

/// The lock of a folder: for as long as this lives, or its process, nobody else gets it. Its file says who has it, and
/// whether a store was ever open there.
final class StoreLock {
    private static let mark = "used\n"

    private var descriptor: FileDescriptor?
    /// A store was open there before.
    let wasUsed: Bool

    init(_ files: StoreFiles) throws(StoreError) {
        let descriptor: FileDescriptor
        do throws(SystemError) {
            descriptor = try Linux.open(files.lock, [.readingAndWriting, .creating, .noFollow], mode: 0o600)
        } catch {
            throw error.errno == .isFolder ? .notAFile(path: files.lock) : StoreError(error, files.lock)
        }
        let failure = Self.take(descriptor.rawValue, files)
        wasUsed =
            (try? Linux.readFile(files.lock)).map { $0.suffix(Self.mark.utf8.count).elementsEqual(Self.mark.utf8) }
            ?? false
        guard let failure else {
            self.descriptor = consume descriptor
            return
        }
        descriptor.close()
        throw failure
    }

    deinit {
        if let number = descriptor.number { Linux.unlock(number) }
        descriptor.take()?.close()
    }

    /// A store is open there: from now on an empty file is no new one.
    func markUsed() {
        guard !wasUsed, let number = descriptor.number else { return }
        // Behind the line that says who has it. Without it an empty file is only taken for a new one.
        try? Linux.writeAll(number, Self.mark.utf8)
    }

    /// Why it cannot be had.
    private static func take(_ descriptor: Int32, _ files: StoreFiles) -> StoreError? {
        do throws(SystemError) {
            let holder = try Linux.livingHolder { () throws(SystemError) in
                try Linux.flock(descriptor) ? nil : try process(files)
            }
            if let holder { return .locked(folder: files.folder, pid: holder == 0 ? nil : holder) }
            // Of fixed width, so that nothing of a longer number stays.
            let digits = "\(Linux.processID)"
            let zeros = String(repeating: "0", count: max(0, 10 - digits.utf8.count))
            try Linux.writeAll(descriptor, "\(zeros)\(digits)\n".utf8)
            return nil
        } catch {
            return StoreError(error, files.lock)
        }
    }

    /// The process that the file names; 0: none.
    private static func process(_ files: StoreFiles) throws(SystemError) -> Int32 {
        let text = String(decoding: try Linux.readFile(files.lock).prefix(16), as: UTF8.self)
        return text.split(separator: "\n").first.flatMap { Int32($0) } ?? 0
    }
}
