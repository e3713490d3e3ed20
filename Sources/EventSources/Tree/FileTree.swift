import LinuxSystem

/// The folders and files below a watched root, each by its name in its folder, with the state that was last seen of it.
///
/// A rename of a folder changes one node, however much stands below it: no path is stored. A node takes 72 bytes, its
/// name once more, and about 6 bytes of the table that finds it; nodes stand in pages, names one behind the other.
/// Nothing here recurses, so that no depth is too deep. A value without any knowledge of the kernel.
package struct FileTree: Sendable {
    package typealias ID = Int32

    /// A node at a time: after it has gone, its number may be another one's.
    package struct Reference: Hashable, Sendable {
        package var id: ID
        var generation: UInt16
    }

    /// The properties of a node beside the state of its file.
    struct Flags: OptionSet, Sendable {
        let rawValue: UInt16

        /// Nobody was told that it is there.
        static let isNew = Flags(rawValue: 1)
        /// Its content is to be told when nobody writes it any more.
        static let isDue = Flags(rawValue: 2)
        /// The due change was found by a comparison.
        static let isRecovered = Flags(rawValue: 4)
        /// Stamped so soon after the last change that another one may leave the same times.
        static let isFresh = Flags(rawValue: 8)
        /// The kernel has reported it, but nobody could look at it yet.
        static let isUnseen = Flags(rawValue: 16)
        /// A folder that is to be listed, and compared.
        static let isQueued = Flags(rawValue: 32)
        /// With all folders in it.
        static let isDeep = Flags(rawValue: 64)
        /// The listing's entries are where the source begins, no news.
        static let isSilent = Flags(rawValue: 128)
        /// The listing's entries are told as found by a comparison.
        static let isCompared = Flags(rawValue: 256)
        /// The listing that is being taken in shows it.
        static let isListed = Flags(rawValue: 512)
        /// It was moved here, and not made; of one that nobody could look at yet.
        static let isMoved = Flags(rawValue: 1024)
        /// Its known state was handled before, and may hide another change.
        static let isUntrusted = Flags(rawValue: 2048)
        /// A folder, known from before; nothing was known of what stands in it.
        static let isShallow = Flags(rawValue: 4096)

        /// How a folder is to be listed.
        static let scan: Flags = [.isQueued, .isDeep, .isSilent, .isCompared]
    }

    struct Node: Sendable {
        var inode: UInt64 = 0
        /// Of a file. Of a folder, its first child and its watch.
        fileprivate var word: Int64 = 0
        fileprivate var modified: Int64 = 0
        fileprivate var changed: Int64 = 0
        fileprivate var userID: UInt32 = 0
        fileprivate var groupID: UInt32 = 0
        fileprivate var links: UInt32 = 0
        fileprivate var nameStart: UInt32 = 0
        fileprivate(set) var parent: ID = 0
        fileprivate var nextInBucket: ID = 0
        fileprivate(set) var next: ID = 0
        fileprivate var previous: ID = 0
        fileprivate var flags: UInt16 = 0
        fileprivate var generation: UInt16 = 0
        /// More than 255 bytes where a file system counts in characters.
        fileprivate var nameLength: UInt16 = 0
        /// Twelve bits of permissions, and the kind above.
        private var mode: UInt16 = 0

        fileprivate var permissions: UInt16 {
            get { mode & 0xfff }
            set { mode = mode & 0xf000 | newValue & 0xfff }
        }

        fileprivate var kind: UInt8 {
            get { UInt8(mode >> 12) }
            set { mode = UInt16(newValue) << 12 | mode & 0xfff }
        }

        fileprivate(set) var firstChild: ID {
            get { ID(truncatingIfNeeded: word) }
            set { word = (word & ~0xffff_ffff) | Int64(UInt32(bitPattern: newValue)) }
        }
    }

    /// Holds the root, which has no name.
    static let holder: ID = 0
    static let longestName = Int(UInt16.max)
    private static let pageBits = 10

    private var pages: [[Node]] = []
    private(set) var used = 0
    private var firstFree: ID = 0
    /// Nodes, without the holder.
    package private(set) var count = 0
    package private(set) var folderCount = 0
    private var buckets: [ID] = [ID](repeating: 0, count: 16)
    private var names: [UInt8] = []
    /// Bytes of names that nobody has any more.
    private var staleNames = 0

    package init() {
        // The number of the holder is that of no other node: 0 stands for none.
        _ = allocate()
        self[Self.holder].kind = Self.number(.folder)
    }

    private(set) subscript(id: ID) -> Node {
        get { pages[Int(id) >> Self.pageBits][Int(id) & (1 << Self.pageBits - 1)] }
        _modify { yield &pages[Int(id) >> Self.pageBits][Int(id) & (1 << Self.pageBits - 1)] }
    }

    /// Bytes of memory.
    package var room: Int {
        pages.reduce(0) { $0 + $1.capacity * MemoryLayout<Node>.stride } + buckets.capacity * MemoryLayout<ID>.stride
            + names.capacity
    }

    // MARK: Nodes

    func reference(_ id: ID) -> Reference { Reference(id: id, generation: self[id].generation) }

    /// The node, if it is still the same.
    func id(_ reference: Reference) -> ID? {
        guard reference.id > 0, reference.id < used else { return nil }
        let node = self[reference.id]
        return node.generation == reference.generation && node.parent >= 0 ? reference.id : nil
    }

    /// The root's node.
    package var root: ID? {
        let first = self[Self.holder].firstChild
        return first == 0 ? nil : first
    }

    func parent(of id: ID) -> ID { self[id].parent }

    func kind(of id: ID) -> FileStatus.Kind { Self.kinds[Int(self[id].kind)] }

    func isFolder(_ id: ID) -> Bool { self[id].kind == Self.folder }

    /// Whether that is the kind of a node, or of one that was handled before may be.
    func isOfKind(_ kind: FileStatus.Kind, _ id: ID) -> Bool {
        let known = self.kind(of: id)
        return known == kind || (known == .unknown && kind != .folder && !has(.isUnseen, id))
    }

    func has(_ flag: Flags, _ id: ID) -> Bool { self[id].flags & flag.rawValue != 0 }

    func flags(of id: ID) -> Flags { Flags(rawValue: self[id].flags) }

    mutating func set(_ flags: Flags, _ id: ID) { self[id].flags |= flags.rawValue }

    mutating func clear(_ flags: Flags, _ id: ID) { self[id].flags &= ~flags.rawValue }

    /// How a folder is to be listed, which it is from now on.
    mutating func takeScan(_ id: ID) -> Flags {
        defer { clear(.scan, id) }
        return flags(of: id).intersection(.scan)
    }

    /// One that was handled before is of that kind, as is known now.
    mutating func setKind(_ kind: FileStatus.Kind, of id: ID) {
        if self[id].kind == Self.number(.unknown), kind != .folder { self[id].kind = Self.number(kind) }
    }

    /// The inotify watch of a folder; 0: none.
    func watch(of id: ID) -> Int32 { isFolder(id) ? Int32(truncatingIfNeeded: self[id].word >> 32) : 0 }

    mutating func setWatch(_ watch: Int32, of id: ID) {
        guard isFolder(id) else { return }
        self[id].word = (self[id].word & 0xffff_ffff) | Int64(watch) << 32
    }

    private static let folder = number(.folder)
    private static let kinds: [FileStatus.Kind] = [
        .unknown, .regular, .folder, .symbolicLink, .fifo, .socket, .characterDevice, .blockDevice,
    ]

    private static func number(_ kind: FileStatus.Kind) -> UInt8 {
        switch kind {
        case .unknown: 0
        case .regular: 1
        case .folder: 2
        case .symbolicLink: 3
        case .fifo: 4
        case .socket: 5
        case .characterDevice: 6
        case .blockDevice: 7
        }
    }

    // MARK: Stamps

    /// Its last known state.
    func stamp(of id: ID) -> FolderSnapshot.Stamp {
        let node = self[id]
        var stamp = FolderSnapshot.Stamp(
            inode: node.inode, size: isFolder(id) ? 0 : node.word, modified: node.modified, changed: node.changed,
            isFolder: isFolder(id))
        (stamp.permissions, stamp.userID, stamp.groupID) = (UInt32(node.permissions), node.userID, node.groupID)
        stamp.links = UInt64(node.links)
        stamp.isOpen = has(.isDue, id)
        stamp.isFresh = !flags(of: id).isDisjoint(with: [.isFresh, .isUntrusted])
        return stamp
    }

    /// - Parameter isFresh: another change may leave the same times.
    mutating func setStamp(_ status: FileStatus, isFresh: Bool, of id: ID) {
        var node = self[id]
        let kind = Self.number(status.kind)
        if node.kind != kind {
            if node.kind == Self.folder { folderCount -= 1 }
            if kind == Self.folder { folderCount += 1 }
            (node.kind, node.word) = (kind, 0)
        }
        (node.inode, node.modified, node.changed) = (status.inode, status.modified, status.changed)
        (node.userID, node.groupID) = (status.userID, status.groupID)
        node.permissions = UInt16(truncatingIfNeeded: status.permissions)
        if kind != Self.folder {
            node.word = status.size
            node.links = UInt32(truncatingIfNeeded: status.links)
        }
        node.flags &= ~Flags([.isUnseen, .isFresh, .isUntrusted]).rawValue
        if isFresh { node.flags |= Flags.isFresh.rawValue }
        self[id] = node
    }

    /// The state that was handled.
    mutating func setStamp(_ stamp: FolderSnapshot.Stamp, of id: ID) {
        (self[id].inode, self[id].modified, self[id].changed) = (stamp.inode, stamp.modified, stamp.changed)
        (self[id].userID, self[id].groupID) = (stamp.userID, stamp.groupID)
        self[id].permissions = UInt16(truncatingIfNeeded: stamp.permissions)
        if !isFolder(id) {
            self[id].word = stamp.size
            self[id].links = UInt32(truncatingIfNeeded: stamp.links)
        }
        if stamp.isFresh { set(.isUntrusted, id) } else { clear(.isUntrusted, id) }
    }

    // MARK: Names

    func name(of id: ID) -> [UInt8] {
        let (start, length) = (Int(self[id].nameStart), Int(self[id].nameLength))
        return Array(names[start..<(start + length)])
    }

    /// Below the root; empty for the root itself.
    package func path(of id: ID) -> [UInt8] { path(of: id, below: root ?? Self.holder) }

    /// - Parameter top: a folder above it, or itself: then the path is empty.
    func path(of id: ID, below top: ID) -> [UInt8] {
        // The node itself and what is above it, from below.
        var (places, length, node): ([(start: UInt32, count: UInt16)], Int, ID) = ([], 0, id)
        while node != top, node != Self.holder {
            let (start, count, parent) = place(of: node)
            places.append((start, count))
            length += Int(count) + 1
            node = parent
        }
        guard length > 1 else { return [] }
        var path: [UInt8] = []
        path.reserveCapacity(length)
        for (start, count) in places.reversed() {
            if !path.isEmpty { path.append(UInt8(ascii: "/")) }
            path += names[Int(start)..<(Int(start) + Int(count))]
        }
        return path
    }

    private func place(of id: ID) -> (start: UInt32, count: UInt16, parent: ID) {
        pages[Int(id) >> Self.pageBits].withUnsafeBufferPointer { page in
            let node = page[Int(id) & (1 << Self.pageBits - 1)]
            return (node.nameStart, node.nameLength, node.parent)
        }
    }

    func child(of folder: ID, named name: [UInt8]) -> ID? {
        var id = buckets[bucket(folder, name)]
        while id != 0 {
            let node = self[id]
            if node.parent == folder, Int(node.nameLength) == name.count, isNamed(node, name) { return id }
            id = node.nextInBucket
        }
        return nil
    }

    /// The node at a path below the root; empty: the root.
    package func node(at path: [UInt8]) -> ID? {
        var node = root
        for name in path.split(separator: UInt8(ascii: "/")) {
            guard let folder = node else { return nil }
            node = child(of: folder, named: Array(name))
        }
        return node
    }

    /// - Precondition: it has that length.
    private func isNamed(_ node: Node, _ name: [UInt8]) -> Bool {
        let start = Int(node.nameStart)
        return names.withUnsafeBytes { all in
            name.withUnsafeBytes { bytes in all[start..<(start + name.count)].elementsEqual(bytes) }
        }
    }

    private func bucket(_ parent: ID, _ name: [UInt8]) -> Int {
        name.withUnsafeBytes { bucket(parent, $0) }
    }

    private func bucket(_ parent: ID, _ name: UnsafeRawBufferPointer) -> Int {
        // Names are chosen by others: with a seed of this process, none can choose them to fall together.
        var hasher = Hasher()
        hasher.combine(parent)
        hasher.combine(bytes: name)
        return hasher.finalize() & (buckets.count - 1)
    }

    /// That of a node.
    private func bucket(of node: Node) -> Int {
        names.withUnsafeBytes { names in
            let start = Int(node.nameStart)
            return bucket(node.parent, UnsafeRawBufferPointer(rebasing: names[start..<(start + Int(node.nameLength))]))
        }
    }

    // MARK: Changing

    /// - Precondition: nothing stands there by that name, which has at most `longestName` bytes.
    mutating func insert(_ name: [UInt8], into folder: ID, kind: FileStatus.Kind = .unknown) -> ID {
        count += 1
        if count > buckets.count { growBuckets() }
        let (id, start) = (allocate(), keep(name))
        var node = self[id]
        (node.kind, node.nameStart) = (Self.number(kind), start)
        node.nameLength = UInt16(truncatingIfNeeded: name.count)
        self[id] = node
        if kind == .folder { folderCount += 1 }
        link(id, name, into: folder)
        return id
    }

    /// - Precondition: nothing stands below it any more.
    mutating func remove(_ id: ID) {
        unlink(id)
        staleNames += Int(self[id].nameLength)
        if isFolder(id) { folderCount -= 1 }
        count -= 1
        let generation = self[id].generation
        self[id] = Node()
        self[id].generation = generation &+ 1
        self[id].parent = -1
        self[id].next = firstFree
        firstFree = id
        if staleNames > 65_536, staleNames > names.count / 2 { compactNames() }
    }

    /// - Precondition: nothing stands there by that name; the folder is neither it nor below it.
    mutating func move(_ id: ID, to folder: ID, name: [UInt8]) {
        unlink(id)
        staleNames += Int(self[id].nameLength)
        self[id].nameStart = keep(name)
        self[id].nameLength = UInt16(truncatingIfNeeded: name.count)
        link(id, name, into: folder)
    }

    /// They stand in each other's place.
    mutating func exchange(_ one: ID, _ other: ID) {
        let (place, name) = (self[one].parent, self.name(of: one))
        let (otherPlace, otherName) = (self[other].parent, self.name(of: other))
        unlink(one)
        unlink(other)
        (self[one].nameStart, self[other].nameStart) = (self[other].nameStart, self[one].nameStart)
        (self[one].nameLength, self[other].nameLength) = (self[other].nameLength, self[one].nameLength)
        link(one, otherName, into: otherPlace)
        link(other, name, into: place)
    }

    private mutating func allocate() -> ID {
        if firstFree != 0 {
            let id = firstFree
            firstFree = self[id].next
            let generation = self[id].generation
            self[id] = Node()
            self[id].generation = generation
            return id
        }
        if used >> Self.pageBits == pages.count {
            var page: [Node] = []
            page.reserveCapacity(used == 0 ? 16 : 1 << Self.pageBits)
            pages.append(page)
        }
        pages[used >> Self.pageBits].append(Node())
        used += 1
        return ID(used - 1)
    }

    private mutating func keep(_ name: [UInt8]) -> UInt32 {
        let start = names.count
        if start + name.count > names.capacity { names.reserveCapacity(start + name.count + max(4096, start / 8)) }
        names += name
        return UInt32(truncatingIfNeeded: start)
    }

    private mutating func link(_ id: ID, _ name: [UInt8], into folder: ID) {
        let (bucket, first) = (bucket(folder, name), self[folder].firstChild)
        var node = self[id]
        (node.parent, node.previous, node.next) = (folder, 0, first)
        node.nextInBucket = buckets[bucket]
        self[id] = node
        buckets[bucket] = id
        if first != 0 { self[first].previous = id }
        self[folder].firstChild = id
    }

    private mutating func unlink(_ id: ID) {
        let node = self[id]
        let bucket = bucket(of: node)
        if buckets[bucket] == id {
            buckets[bucket] = node.nextInBucket
        } else {
            var before = buckets[bucket]
            while before != 0, self[before].nextInBucket != id { before = self[before].nextInBucket }
            if before != 0 { self[before].nextInBucket = node.nextInBucket }
        }
        if node.previous == 0 {
            self[node.parent].firstChild = node.next
        } else {
            self[node.previous].next = node.next
        }
        if node.next != 0 { self[node.next].previous = node.previous }
    }

    private mutating func growBuckets() {
        buckets = [ID](repeating: 0, count: 2 * buckets.count)
        for id in 1..<ID(used) where self[id].parent >= 0 {
            let bucket = bucket(of: self[id])
            self[id].nextInBucket = buckets[bucket]
            buckets[bucket] = id
        }
    }

    private mutating func compactNames() {
        var kept: [UInt8] = []
        kept.reserveCapacity(names.count - staleNames)
        for number in 0..<used where self[ID(number)].parent >= 0 {
            let (start, length) = (Int(self[ID(number)].nameStart), Int(self[ID(number)].nameLength))
            self[ID(number)].nameStart = UInt32(truncatingIfNeeded: kept.count)
            kept += names[start..<(start + length)]
        }
        names = kept
        staleNames = 0
    }
}
