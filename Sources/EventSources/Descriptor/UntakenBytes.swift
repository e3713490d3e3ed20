import WatchFile

/// The items that a durable source has told of its descriptors and not taken out of them yet, as a note that is stored
/// in the same commit as their fate.
///
/// After a `kill -9` in between, the bytes of the note still stand at the head of the descriptor: what is told of them
/// by the next daemon may be a repeat, and says so. Nothing is dropped, since somebody may have written the same bytes
/// again. Items that are told of a descriptor are taken out in pieces, each at once: one that waits to be safe, and one
/// that was told since. The rest of what is a repeat already is a third, which the note goes on to tell of while it
/// stands there. Confined to its context.
package final class UntakenBytes {
    struct Piece: Equatable {
        var count = 0
        var mark = TailPosition.mark([])

        mutating func append(_ bytes: some Collection<UInt8>) {
            count += bytes.count
            mark = TailPosition.mark(bytes, behind: mark)
        }

        /// Of these bytes, from the first to the last or, as of what is a repeat already, from the last to the first.
        func isMark(of bytes: ArraySlice<UInt8>) -> Bool {
            TailPosition.mark(bytes) == mark || TailPosition.mark(bytes.reversed()) == mark
        }
    }

    /// In a note of more descriptors they are not told apart.
    static let limit = 64
    private static let heading = Array("untaken".utf8)
    private static let everything = UInt8(ascii: "*")

    private let position: () -> [UInt8]?
    private let isMissing: () -> Bool
    /// By reader, the first one first; few. An end of the chain of pieces is what stands at its head.
    private var readers: [(reader: ObjectIdentifier, chain: [Piece])] = []
    /// Chains of readers that were closed, for those that are opened in their place.
    private var left: [[Piece]] = []
    /// The last note of the daemon before; `nil`: not read yet.
    private var before: Note?
    /// This daemon has told something, so that its note is the one that counts.
    private(set) var isTold = false

    private struct Note {
        var chains: [[Piece]] = []
        var isOfEverything = false
    }

    /// - Parameters:
    ///   - position: what the store has of the source.
    ///   - isMissing: nobody knows that yet.
    init(position: @escaping () -> [UInt8]?, isMissing: @escaping () -> Bool) {
        self.position = position
        self.isMissing = isMissing
    }

    /// Whether these bytes of a source's position are such a note.
    private static func isNote(_ position: [UInt8]) -> Bool { position.starts(with: heading) }

    /// To be stored now.
    var note: [UInt8] {
        if readers.count + left.count > Self.limit { return Self.heading + [Self.everything] }
        let chains = (readers.map(\.chain) + left).map { chain in
            "\n" + chain.map { "\($0.count) \($0.mark)" }.joined(separator: " ")
        }
        return Self.heading + Array(chains.joined().utf8)
    }

    /// The items that this reader has told and not taken out, in order; none: it has taken out everything.
    func set(_ chain: [Piece], of reader: AnyObject) {
        let chain = chain.filter { $0.count > 0 }
        let reader = ObjectIdentifier(reader)
        let index = readers.firstIndex { $0.reader == reader }
        if let index, chain.isEmpty {
            readers.remove(at: index)
        } else if let index {
            readers[index].chain = chain
        } else if !chain.isEmpty {
            readers.append((reader, chain))
        }
    }

    /// All readers of the source have been looked at, and one tells something.
    func tells() {
        isTold = true
        left = []
    }

    /// The reader is closed: what it has not taken out stands there for the next one.
    func leaves(_ reader: AnyObject) {
        if isTold { before = Note() }
        guard let index = readers.firstIndex(where: { $0.reader == ObjectIdentifier(reader) }) else { return }
        left.append(readers.remove(at: index).chain)
    }

    /// The store has told what the daemon before had noted, or there is none.
    var isKnown: Bool {
        if before != nil { return true }
        if isMissing() { return false }
        before = position().map(Self.read) ?? Note()
        return true
    }

    /// How many of the bytes at the head of a descriptor of the daemon before it may have told.
    func repeated(_ head: [UInt8]) -> Int {
        guard isKnown, let before else { return 0 }
        if before.isOfEverything { return head.count }
        var most = 0
        for chain in before.chains + left {
            for first in chain.indices {
                var end = 0
                for piece in chain[first...] {
                    guard piece.count <= head.count - end, piece.isMark(of: head[end..<end + piece.count]) else {
                        break
                    }
                    end += piece.count
                }
                most = max(most, end)
            }
        }
        return most
    }

    private static func read(_ bytes: [UInt8]) -> Note {
        var note = Note()
        guard isNote(bytes) else { return note }
        let rest = bytes.dropFirst(heading.count)
        if rest.first == everything { note.isOfEverything = true }
        for line in rest.split(separator: UInt8(ascii: "\n")) {
            let numbers = line.split(separator: UInt8(ascii: " ")).compactMap {
                UInt64(String(decoding: $0, as: UTF8.self))
            }
            note.chains.append(
                stride(from: 0, to: numbers.count - 1, by: 2).map {
                    Piece(count: Int(clamping: numbers[$0]), mark: numbers[$0 + 1])
                })
        }
        return note
    }
}

/// The notes of all durable sources, also of those that a reload closes and opens again. Confined to its context.
final class UntakenNotes {
    private let position: (SourceID) -> [UInt8]?
    private let positionsMissing: () -> String?
    private var bySource: [SourceID: UntakenBytes] = [:]

    init(position: @escaping (SourceID) -> [UInt8]?, positionsMissing: @escaping () -> String?) {
        self.position = position
        self.positionsMissing = positionsMissing
    }

    subscript(id: SourceID) -> UntakenBytes {
        if let bytes = bySource[id] { return bytes }
        let bytes = UntakenBytes { [position] in
            position(id)
        } isMissing: { [positionsMissing] in
            positionsMissing() != nil
        }
        bySource[id] = bytes
        return bytes
    }

    /// Of the sources that have told something, as they stand now.
    var told: [(id: SourceID, note: [UInt8])] {
        let told = bySource.filter(\.value.isTold).sorted { $0.key.description < $1.key.description }
        return told.map { ($0.key, $0.value.note) }
    }
}
