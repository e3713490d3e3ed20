import LinuxSystem

/// The lock of a folder: for as long as this lives, or its process, nobody else gets it.
final class StoreLock {
    private var descriptor: FileDescriptor?

    init(_ files: StoreFiles) throws(StoreError) {
        let descriptor: FileDescriptor
        do throws(SystemError) {
            descriptor = try Linux.open(files.lock, [.readingAndWriting, .creating, .noFollow], mode: 0o600)
        } catch {
            throw error.errno == .isFolder ? .notAFile(path: files.lock) : StoreError(error, files.lock)
        }
        let failure = Self.take(descriptor.rawValue, files)
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

    /// Why it cannot be had.
    private static func take(_ descriptor: Int32, _ files: StoreFiles) -> StoreError? {
        do throws(SystemError) {
            guard try Linux.flock(descriptor) else {
                let text = String(decoding: try Linux.read(descriptor, atMost: 16), as: UTF8.self)
                return .locked(folder: files.folder, pid: text.split(separator: "\n").first.flatMap { Int32($0) })
            }
            // Of fixed width, so that nothing of a longer number stays.
            let digits = "\(Linux.processID)"
            let zeros = String(repeating: "0", count: max(0, 10 - digits.utf8.count))
            try Linux.writeAll(descriptor, "\(zeros)\(digits)\n".utf8)
            return nil
        } catch {
            return StoreError(error, files.lock)
        }
    }
}
