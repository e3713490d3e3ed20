import CLinux
import Glibc

/// The events that an inotify watch waits for, and those it reports (`inotify(7)`).
package struct InotifyMask: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    init(_ value: Int32) { rawValue = UInt32(bitPattern: value) }

    package static let accessed = InotifyMask(IN_ACCESS)
    package static let modified = InotifyMask(IN_MODIFY)
    package static let attributes = InotifyMask(IN_ATTRIB)
    package static let closedAfterWriting = InotifyMask(IN_CLOSE_WRITE)
    package static let movedFrom = InotifyMask(IN_MOVED_FROM)
    package static let movedTo = InotifyMask(IN_MOVED_TO)
    package static let created = InotifyMask(IN_CREATE)
    package static let deleted = InotifyMask(IN_DELETE)
    package static let selfDeleted = InotifyMask(IN_DELETE_SELF)
    package static let selfMoved = InotifyMask(IN_MOVE_SELF)

    // Only for adding a watch.
    package static let onlyFolders = InotifyMask(IN_ONLYDIR)
    package static let noFollow = InotifyMask(IN_DONT_FOLLOW)
    /// IN_EXCL_UNLINK: nothing more of what was deleted and is still open.
    package static let excludesUnlinked = InotifyMask(IN_EXCL_UNLINK)
    /// IN_MASK_ADD: adds to the watch that the inode has already.
    package static let adding = InotifyMask(IN_MASK_ADD)

    // Only reported.
    package static let isFolder = InotifyMask(IN_ISDIR)
    /// The watch is gone: removed, or the inode was deleted, or its file system unmounted.
    package static let ignored = InotifyMask(IN_IGNORED)
    /// The queue overflowed and events were lost; of no watch (`watch` is -1).
    package static let overflowed = InotifyMask(IN_Q_OVERFLOW)
    package static let unmounted = InotifyMask(IN_UNMOUNT)
}

package struct InotifyEvent: Hashable, Sendable {
    package var watch: Int32
    package var mask: InotifyMask
    /// Joins the two halves of a rename; 0 for everything else.
    package var cookie: UInt32
    /// The name in the watched folder; empty for the watched file itself.
    package var name: [UInt8]

    package init(watch: Int32, mask: InotifyMask, cookie: UInt32 = 0, name: [UInt8] = []) {
        self.watch = watch
        self.mask = mask
        self.cookie = cookie
        self.name = name
    }

    /// The events of what was read from an inotify descriptor. A record that is cut off ends the list.
    package static func parse(_ bytes: UnsafeRawBufferPointer) -> [InotifyEvent] {
        var events: [InotifyEvent] = []
        var offset = 0
        let headerSize = 16  // struct inotify_event: wd, mask, cookie, len
        while offset + headerSize <= bytes.count {
            func field<Value: BitwiseCopyable>(_ index: Int, _ type: Value.Type) -> Value {
                bytes.loadUnaligned(fromByteOffset: offset + index * 4, as: type)
            }
            let length = Int(field(3, UInt32.self))
            let end = offset + headerSize + length
            guard end <= bytes.count else { break }
            // The name is padded with NULs.
            let name = bytes[(offset + headerSize)..<end].prefix { $0 != 0 }
            events.append(
                InotifyEvent(
                    watch: field(0, Int32.self), mask: InotifyMask(rawValue: field(1, UInt32.self)),
                    cookie: field(2, UInt32.self), name: Array(name)))
            offset = end
        }
        return events
    }
}

extension Linux {
    /// `inotify_init1(2)`, non-blocking. EMFILE: `fs.inotify.max_user_instances` is used up.
    package static func inotifyCreate() throws(SystemError) -> FileDescriptor {
        try descriptor("inotify_init1") { inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) }
    }

    /// `inotify_add_watch(2)`: the watch of the path's inode, the same as before if it has one. ENOSPC:
    /// `fs.inotify.max_user_watches` is used up.
    package static func inotifyAdd(
        _ inotify: Int32, _ path: some SystemPath, _ mask: InotifyMask
    ) throws(SystemError) -> Int32 {
        try call("inotify_add_watch", path) { inotify_add_watch(inotify, $0, mask.rawValue) }
    }

    /// `inotify_add_watch(2)` of an open file or folder, wherever it stands by now.
    package static func inotifyAdd(
        _ inotify: Int32, open descriptor: Int32, _ mask: InotifyMask
    ) throws(SystemError) -> Int32 {
        try call("inotify_add_watch") { clinux_inotify_add(inotify, descriptor, mask.rawValue) }
    }

    /// `inotify_rm_watch(2)`. EINVAL: it is gone already.
    package static func inotifyRemove(_ inotify: Int32, watch: Int32) throws(SystemError) {
        try call("inotify_rm_watch") { inotify_rm_watch(inotify, watch) }
    }

    /// The watches that an inotify descriptor has, from `/proc/self/fdinfo` (`proc_pid_fdinfo(5)`).
    package static func inotifyWatches(_ inotify: Int32) throws(SystemError) -> Set<Int32> {
        // A line has about 100 bytes, and a user about 200 000 watches at most.
        let text = try readFile("/proc/self/fdinfo/\(inotify)", limit: 256 << 20)
        let prefix = Array("inotify wd:".utf8)
        let numbers = text.split(separator: UInt8(ascii: "\n")).filter { $0.starts(with: prefix) }.compactMap { line in
            Int32(String(decoding: line.dropFirst(prefix.count).prefix { $0 != 0x20 }, as: UTF8.self), radix: 16)
        }
        return Set(numbers)
    }

    /// `read(2)` of an inotify descriptor: what one read gives, empty when there is nothing.
    ///
    /// - Parameter limit: bytes; at least 272, the largest record.
    package static func inotifyRead(_ inotify: Int32, limit: Int = 65_536) throws(SystemError) -> [InotifyEvent] {
        do throws(SystemError) {
            return try withUnsafeTemporaryAllocation(byteCount: limit, alignment: 8) { buffer throws(SystemError) in
                let count = try read(inotify, into: buffer)
                return InotifyEvent.parse(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        } catch let error where error.errno == .wouldBlock {
            return []
        }
    }
}
