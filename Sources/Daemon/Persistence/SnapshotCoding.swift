import Engine
import Store

/// The bytes of snapshots of paths, as they stand in the store; the first is the version, as in `StateCoding`.
extension StateCoding {
    static func encode(_ state: PathState) -> [UInt8] {
        var writer = ByteWriter(capacity: 48)
        writer.put(byte: version)
        writer.put(byte: state.kind.rawValue)
        writer.put(flags(state.isFresh))
        for number in [
            state.inode, state.links, UInt64(state.permissions), UInt64(state.userID), UInt64(state.groupID),
        ] {
            writer.put(number)
        }
        writer.put(state.size)
        writer.put(state.modified)
        // Mostly the same.
        writer.put(state.changed &- state.modified)
        return writer.bytes
    }

    /// `nil`: damaged, or of a version that is not known.
    static func pathState(_ bytes: [UInt8]) -> PathState? {
        decode(bytes) { reader throws(DamagedBytes) in
            var state = PathState(try reader.within(PathState.Kind(rawValue: reader.byte())))
            state.isFresh = try reader.flags(1) == 1
            (state.inode, state.links) = (try reader.unsigned(), try reader.unsigned())
            state.permissions = try reader.within(UInt32(exactly: reader.unsigned()))
            state.userID = try reader.within(UInt32(exactly: reader.unsigned()))
            state.groupID = try reader.within(UInt32(exactly: reader.unsigned()))
            (state.size, state.modified) = (try reader.signed(), try reader.signed())
            state.changed = state.modified &+ (try reader.signed())
            return state
        }
    }

    static func encode(_ root: SnapshotRoot) -> [UInt8] {
        var writer = ByteWriter(capacity: 64)
        writer.put(byte: version)
        let scope = root.scope
        writer.put(
            flags(
                root.instead != nil, scope.isRecursive, scope.followsLinks, !scope.patterns.isEmpty,
                scope.isDeepInPatterns))
        writer.put(root.startsWithout)
        for identity in [root.identity, root.instead].compactMap(\.self) {
            writer.put(identity.device)
            writer.put(identity.inode)
            writer.put(identity.born)
        }
        for texts in scope.isRecursive ? [scope.prune] + (scope.patterns.isEmpty ? [] : [scope.patterns]) : [] {
            writer.put(UInt64(texts.count))
            for text in texts { writer.put(text) }
        }
        return writer.bytes
    }

    static func snapshotRoot(_ bytes: [UInt8]) -> SnapshotRoot? {
        decode(bytes) { reader throws(DamagedBytes) in
            let flags = try reader.flags(31)
            let starts = try reader.int(0...largestCount)
            var root = SnapshotRoot(try reader.identity())
            if flags & 1 != 0 { root.instead = try reader.identity() }
            let isRecursive = flags & 2 != 0
            let prune = isRecursive ? try reader.texts() : []
            let patterns = flags & 8 != 0 ? try reader.texts() : []
            // Only a tree has some, and then not none.
            guard patterns.isEmpty ? flags & 8 == 0 : isRecursive else { throw DamagedBytes() }
            root.scope = SnapshotScope(
                isRecursive: isRecursive, prune: prune, followsLinks: flags & 4 != 0, patterns: patterns,
                isDeepInPatterns: flags & 16 != 0)
            root.startsWithout = starts
            return root
        }
    }
}

extension ByteReader {
    fileprivate mutating func texts() throws(DamagedBytes) -> [String] {
        try list(ofAtLeast: 1) { reader throws(DamagedBytes) in try reader.text() }
    }

    fileprivate mutating func identity() throws(DamagedBytes) -> RootIdentity {
        RootIdentity(device: try unsigned(), inode: try unsigned(), born: try signed())
    }
}

extension SnapshotChange {
    init(_ id: String, _ root: [UInt8], _ write: SnapshotWrite) {
        let content: Content =
            switch write {
            case .begin: .begin
            case .forget: .forget
            case .complete(let about): .complete(about: StateCoding.encode(about))
            case .entries(let entries):
                .entries(
                    entries.map { path, state in
                        Entry(
                            path: path, state: state.kind == .nothing ? nil : StateCoding.encode(state),
                            isWeak: state.isTold)
                    })
            }
        self.init(source: id, root: root, content)
    }
}
