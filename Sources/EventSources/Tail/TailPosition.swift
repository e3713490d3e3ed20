import Engine
import LinuxSystem

/// How far a file has been read: kept in the store, so that a restart goes on there.
struct TailPosition: Equatable {
    /// Of the beginning of the file, by which it is known again: an inode is given to another file in the end.
    static let markSize = 256

    var device: UInt64
    var inode: UInt64
    /// Bytes whose lines have been told.
    var offset: Int64
    /// The next bytes belong to a line that was cut.
    var isSkipping = false
    /// Bytes of the beginning that `mark` is of.
    var markLength = 0
    var mark: UInt64 = Self.mark([])
    /// When it was written to last and when it was made, as of the last look; nanoseconds since the epoch, 0: not
    /// known.
    var modified: Int64 = 0
    var born: Int64 = 0

    /// The beginning of an open file.
    init(beginningOf file: Int32, _ status: FileStatus) {
        self.init(of: status)
        (modified, born) = (max(0, status.modified), Linux.birthTime(file))
    }

    init(of status: FileStatus) { self.init(device: status.device, inode: status.inode, offset: 0) }

    init(device: UInt64, inode: UInt64, offset: Int64) {
        self.device = device
        self.inode = inode
        self.offset = offset
    }

    /// Eight numbers.
    var bytes: [UInt8] {
        let skipping = isSkipping ? 1 : 0
        return Array("\(device) \(inode) \(offset) \(skipping) \(markLength) \(mark) \(modified) \(born)".utf8)
    }

    init?(_ bytes: [UInt8]) {
        let numbers = String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { UInt64($0) }
        guard numbers.count == 8, let offset = Int64(exactly: numbers[2]), numbers[4] <= Self.markSize,
            let modified = Int64(exactly: numbers[6]), let born = Int64(exactly: numbers[7])
        else { return nil }
        self.init(device: numbers[0], inode: numbers[1], offset: offset)
        isSkipping = numbers[3] == 1
        markLength = Int(numbers[4])
        mark = numbers[5]
        (self.modified, self.born) = (modified, born)
    }

    /// The same place of a file that was found.
    func moved(to status: FileStatus, born: Int64) -> TailPosition {
        var moved = self
        (moved.device, moved.inode, moved.born) = (status.device, status.inode, born)
        return moved
    }

    func isOf(_ status: FileStatus) -> Bool { device == status.device && inode == status.inode }

    func isOf(_ other: TailPosition) -> Bool { device == other.device && inode == other.inode }

    /// Whether the open file still begins as it did, and is as long as was read.
    func fits(_ file: Int32, _ status: FileStatus) -> Bool { isOf(status) && continues(in: file, status) }

    /// The same of a file that may have been made later, under an inode that was given back.
    func fitsLater(_ file: Int32, _ status: FileStatus) -> Bool {
        let born = Linux.birthTime(file)
        return fits(file, status) && (born == 0 || self.born == 0 || born == self.born)
    }

    /// Whether an open file, this one or a copy of it, begins as this one did, and is as long as was read.
    func continues(in file: Int32, _ status: FileStatus) -> Bool {
        guard status.size >= offset else { return false }
        let beginning = try? Linux.read(file, atMost: max(1, markLength), from: 0)
        return beginning.map { Self.mark($0.prefix(markLength)) == mark } ?? false
    }

    /// Stored: which bytes a file begins with.
    static func mark(_ bytes: some Sequence<UInt8>, behind mark: UInt64 = FNV1a.start) -> UInt64 {
        FNV1a.hash(Array(bytes).span, after: mark)
    }
}
