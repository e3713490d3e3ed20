import LinuxSystem

/// Adds watches of folders, on the context or beside it. Those that it has added are nobody's until the hub is told of
/// their observers (`InotifyHub.observe`), or that nobody wants them (`InotifyHub.discard`).
struct WatchAdder: Sendable {
    /// A copy of the inotify descriptor, open as long as somebody may add to it.
    final class Copy: Sendable {
        fileprivate let number: Int32

        init(_ inotify: consuming FileDescriptor) { number = inotify.release() }

        deinit { FileDescriptor(owning: number).close() }
    }

    enum Inotify {
        /// Of the hub, for its context alone.
        case own(Int32)
        case copy(Copy)
        case failed(SystemError)
    }

    private let inotify: Inotify
    private let room: WatchRoom

    init(_ inotify: Inotify, _ room: WatchRoom) { (self.inotify, self.room) = (inotify, room) }

    /// - Returns: the number of the watch, which is the inode's, the same for every path and observer of it.
    func add(_ folder: [UInt8], _ mask: InotifyMask) throws(SystemError) -> Int32 {
        switch inotify {
        case .own(let number): try add(folder, mask, number)
        case .copy(let copy): try add(folder, mask, copy.number)
        case .failed(let error): throw error
        }
    }

    private func add(_ folder: [UInt8], _ mask: InotifyMask, _ inotify: Int32) throws(SystemError) -> Int32 {
        do throws(SystemError) {
            return try room.add(inotify) { () throws(SystemError) in
                try Linux.inotifyAdd(inotify, folder, mask.union([.adding, .onlyFolders, .excludesUnlinked]))
            }
        } catch  where error.errno == .accessDenied {
            let detail = "\(folder.printable), which takes read permission on that folder"
            throw SystemError(call: error.call, detail: detail, errno: error.errno)
        }
    }
}
