import EventSources
import LinuxSystem

/// The standard input of a worker: lines on their way into a pipe that never blocks.
///
/// Many lines are written at once. Lines that do not fit wait until the pipe has room, and are made into text only
/// shortly before, so that a worker which does not read costs the memory of its operations and little more. Confined to
/// the core.
final class LinePipe<Mark> {
    /// Bytes that are text and not written.
    private static var textAhead: Int { 64 << 10 }
    private static var bytesPerTurn: Int { 256 << 10 }

    /// Its text stands in `text` and is not all written.
    private struct Line {
        /// Bytes, counted from the first that was ever written.
        var start: Int
        var end: Int
        var mark: Mark?
    }

    private enum Entry {
        case line(Mark)
        /// Of the pipe itself: nobody is told when it is written.
        case note([UInt8])
    }

    private let core: Context
    private let epoll: EpollSet
    private var descriptor: FileDescriptor?
    private var token: UInt64?
    private var waitsForRoom = false
    private var isPlanned = false
    private var isClosing = false
    /// Not text yet; the first is at `first`.
    private var waiting: [Entry] = []
    private var first = 0
    private var lines: [Line] = []
    private var text: [UInt8] = []
    /// Bytes of `text` that are written.
    private var done = 0
    /// Bytes written before those of `text`.
    private var written = 0

    /// The text of a line, ended by a newline.
    var encode: (Mark) -> [UInt8] = { _ in [] }
    /// These stand in the pipe to their end.
    var wrote: ([Mark]) -> Void = { _ in }
    /// Nobody reads any more.
    var broke: () -> Void = {}

    private var bound: QueueBound<LinePipe> { QueueBound(self, to: core) }

    init(core: Context, epoll: EpollSet) {
        self.core = core
        self.epoll = epoll
    }

    deinit { descriptor.take()?.close() }

    /// Takes the writing end over, which does not block.
    func open(_ number: Int32) throws(SystemError) {
        descriptor = FileDescriptor(owning: number)
        token = try epoll.add(number, []) { [weak self] events in self?.ready(events) }
    }

    func append(_ mark: Mark) { waiting.append(.line(mark)) }

    /// Before all lines that are not text yet.
    func interpose(_ bytes: [UInt8]) { waiting.insert(.note(bytes), at: first) }

    /// Takes a line out of which nothing is written; `false`: something of it is, or all.
    func withdraw(_ isMeant: (Mark) -> Bool) -> Bool {
        for index in waiting.indices.dropFirst(first) {
            guard case .line(let mark) = waiting[index], isMeant(mark) else { continue }
            waiting.remove(at: index)
            return true
        }
        guard let index = lines.firstIndex(where: { $0.mark.map(isMeant) ?? false }),
            lines[index].start >= written + done
        else { return false }
        let line = lines.remove(at: index)
        text.removeSubrange((line.start - written)..<(line.end - written))
        for later in index..<lines.count {
            lines[later].start -= line.end - line.start
            lines[later].end -= line.end - line.start
        }
        return true
    }

    /// Closes it when all is written.
    func close() {
        isClosing = true
        closeIfDone()
    }

    /// Closes it now.
    func abandon() {
        if let token { epoll.remove(token) }
        token = nil
        descriptor.take()?.close()
        (waiting, lines, text) = ([], [], [])
        (first, done) = (0, 0)
    }

    // MARK: Writing

    /// Writes what the pipe takes.
    func flush() {
        guard !waitsForRoom, let number = descriptor.number else { return }
        var whole: [Mark] = []
        let failure = write(to: number, &whole)
        if let failure {
            failed(failure)
        } else if done < text.count || first < waiting.count {
            flushLater()
        } else {
            closeIfDone()
        }
        // Last, as whoever is told may have more to write.
        if !whole.isEmpty { wrote(whole) }
    }

    /// - Parameter whole: the lines that are written to their end.
    private func write(to number: Int32, _ whole: inout [Mark]) -> SystemError? {
        var budget = Self.bytesPerTurn
        while budget > 0 {
            makeText()
            guard done < text.count else { return nil }
            do throws(SystemError) {
                let count = try Linux.write(number, text, from: done)
                budget -= count
                whole += took(count)
            } catch {
                return error
            }
        }
        return nil
    }

    private func makeText() {
        while text.count - done < Self.textAhead, first < waiting.count {
            let start = written + text.count
            switch waiting[first] {
            case .note(let bytes):
                text += bytes
                lines.append(Line(start: start, end: written + text.count, mark: nil))
            case .line(let mark):
                text += encode(mark)
                lines.append(Line(start: start, end: written + text.count, mark: mark))
            }
            first += 1
        }
        guard first == waiting.count || first > 1024 else { return }
        waiting.removeFirst(first)
        first = 0
    }

    /// So many bytes are written. Returns the lines that end in them.
    private func took(_ count: Int) -> [Mark] {
        done += count
        let whole = lines.prefix { $0.end <= written + done }
        let marks = whole.compactMap(\.mark)
        lines.removeFirst(whole.count)
        if done == text.count {
            written += done
            text.removeAll(keepingCapacity: true)
            done = 0
        } else if done > Self.textAhead {
            written += done
            text.removeFirst(done)
            done = 0
        }
        return marks
    }

    private func failed(_ error: SystemError) {
        guard error.errno == .wouldBlock, let token else { return hangUp() }
        waitsForRoom = true
        do throws(SystemError) { try epoll.modify(token, .writable) } catch { hangUp() }
    }

    /// The other turns of the core come first.
    private func flushLater() {
        guard !isPlanned else { return }
        isPlanned = true
        core.async { [bound] in
            bound.value.isPlanned = false
            bound.value.flush()
        }
    }

    private func ready(_ events: EpollEvents) {
        // A pipe whose reader has gone.
        if events.contains(.error) { return hangUp() }
        guard waitsForRoom, let token else { return }
        waitsForRoom = false
        do throws(SystemError) { try epoll.modify(token, []) } catch { return hangUp() }
        flush()
    }

    /// Nothing more can be written; what is not stays.
    private func hangUp() {
        if let token { epoll.remove(token) }
        token = nil
        descriptor.take()?.close()
        broke()
    }

    private func closeIfDone() {
        guard isClosing, done == text.count, first == waiting.count else { return }
        if let token { epoll.remove(token) }
        token = nil
        descriptor.take()?.close()
    }
}
