import Dispatch
import Engine
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

/// A reload that changes a source closes it and opens another one in its place.
@Suite("Descriptors that are opened again", .ownThread) struct ReopenedDescriptorTests {
    /// A set whose one source is written by the test.
    private struct Setup {
        let rim: Rim
        let set: QueueBound<SourceSet>
        let listener: DescriptorTrigger.Listener
        let writer: Int32
        static let id = SourceID(.descriptor, "d")

        func definition(_ change: (inout DescriptorTrigger) -> Void = { _ in }) -> SourceDefinition {
            var trigger = DescriptorTrigger(listener: listener, framing: .line)
            change(&trigger)
            return SourceDefinition(id: Self.id, routes: [], trigger: .descriptor(trigger))
        }

        func reload(isDurable: Bool = false, _ change: (inout DescriptorTrigger) -> Void = { $0.maxLength -= 1 }) {
            rim.core.queue.sync {
                set.value.close(Self.id)
                set.value.open(definition(change), isDurable: isDurable)
            }
        }

        /// Its section has another name.
        func rename(_ name: String, isDurable: Bool) {
            var renamed = definition()
            renamed.id = SourceID(.descriptor, name)
            rim.core.queue.sync { [renamed] in
                set.value.close(Self.id)
                set.value.open(renamed, isDurable: isDurable)
            }
        }

        func remove(_ id: SourceID = Self.id) {
            rim.core.queue.sync { set.value.close(id) }
            rim.core.queue.sync {}
        }

        func on(_ body: (SourceSet) -> Void) { rim.core.queue.sync { body(set.value) } }

        func write(_ text: String) throws { try Linux.writeAll(writer, text.utf8) }

        /// Everything that was written is taken out.
        func waitUntilRead() throws {
            if case .fifo = listener {
                try wait(for: "it to be read") { try Linux.bytesAvailable(writer) == 0 }
            } else {
                try wait(for: "it to be read") { try Linux.bytesUnsent(writer) == 0 }
            }
            rim.core.queue.sync {}
        }
    }

    private enum Kind: CaseIterable { case fifo, stream }

    private func with(
        _ kind: Kind, isDurable: Bool = false, _ change: (inout DescriptorTrigger) -> Void = { _ in },
        _ body: (Setup) throws -> Void
    ) throws {
        try Folder.with { folder in
            let path = folder["d"].pathBytes
            let rim = try Rim()
            let set = try rim.core.queue.sync {
                QueueBound(try SourceSet(rim.parts.value.environment, ownSignals: []) { _ in }, to: rim.core)
            }
            let listener: DescriptorTrigger.Listener = kind == .fifo ? .fifo(path) : .stream(.unix(path))
            let unopened = Setup(rim: rim, set: set, listener: listener, writer: -1)
            unopened.on { $0.open(unopened.definition(change), isDurable: isDurable) }
            try rim.waitUntilArmed()
            let writer: Int32
            if kind == .fifo {
                writer = try Linux.open(path, .writing).release()
            } else {
                writer = try Linux.socket(for: .unix(path), .stream, nonBlocking: false).release()
                try Linux.connect(writer, .unix(path))
            }
            let setup = Setup(rim: rim, set: set, listener: listener, writer: writer)
            defer {
                setup.remove()
                FileDescriptor(owning: writer).close()
            }
            try body(setup)
        }
    }

    @Test(arguments: Kind.allCases, [(false, false), (false, true), (true, false), (true, true)])
    private func aLineThatHasBegunIsGoneOnWith(kind: Kind, durable: (before: Bool, after: Bool)) throws {
        try with(kind, isDurable: durable.before) { setup in
            try setup.write("one\nfirst|")
            try wait(for: "one") { setup.rim.texts == ["one"] }
            if !durable.before { try setup.waitUntilRead() }
            setup.reload(isDurable: durable.after) { $0.maxLength = 100 }
            try setup.write("second|")
            if !durable.after { try setup.waitUntilRead() }
            setup.reload(isDurable: durable.before) { $0.maxLength = 200 }
            try setup.write("third\nlast\n")
            try wait(for: "the lines") { setup.rim.texts == ["one", "first|second|third", "last"] }
            #expect(setup.rim.lines.allSatisfy { !$0.isIncomplete })
            #expect(setup.rim.gap == 0)
            #expect(setup.rim.warnings == [])
        }
    }

    @Test(arguments: Kind.allCases, [false, true])
    private func aSourceWithAnotherNameGoesOn(kind: Kind, isDurable: Bool) throws {
        try with(kind, isDurable: isDurable) { setup in
            try setup.write("one\nfirst|")
            try wait(for: "one") { setup.rim.texts == ["one"] }
            if !isDurable { try setup.waitUntilRead() }
            setup.rename("other", isDurable: isDurable)
            defer { setup.remove(SourceID(.descriptor, "other")) }
            try setup.write("second\nlast\n")
            try wait(for: "the lines, not \(setup.rim.texts)") { setup.rim.texts == ["one", "first|second", "last"] }
            #expect(setup.rim.lines.allSatisfy { !$0.isIncomplete })
            #expect(setup.rim.gap == 0)
            #expect(setup.rim.warnings == [])
        }
    }

    @Test(arguments: Kind.allCases, [(false, false), (false, true), (true, false), (true, true)])
    private func whatIsLeftOfALineThatWasCutIsNoLine(kind: Kind, durable: (before: Bool, after: Bool)) throws {
        try with(kind, isDurable: durable.before) {
            $0.maxLength = 4
        } _: { setup in
            try setup.write("abcdefgh")
            try wait(for: "what is told of it") { setup.rim.texts == ["abcd"] }
            try setup.waitUntilRead()
            setup.reload(isDurable: durable.after) { $0.maxLength = 100 }
            try setup.write("ijkl\nnext\n")
            try wait(for: "the next line") { setup.rim.texts == ["abcd", "next"] }
            #expect(setup.rim.gap == 1)
        }
    }

    @Test(arguments: Kind.allCases, [false, true])
    private func whereNoLinesAreReadAnyMoreTheBeginningOfOneIsTold(kind: Kind, isDurable: Bool) throws {
        try with(kind) { setup in
            try setup.write("first")
            try setup.waitUntilRead()
            setup.reload(isDurable: isDurable) { $0.framing = .chunk }
            try setup.write("second")
            try wait(for: "both") { setup.rim.texts == ["first", "second"] }
            #expect(setup.rim.lines.map(\.isIncomplete) == [true, false])
            #expect(setup.rim.gap == 0)
        }
    }

    /// The writer goes before its end has come.
    @Test(arguments: Kind.allCases, [false, true])
    private func theBeginningIsToldWhenTheWriterGoes(kind: Kind, isDurable: Bool) throws {
        try with(kind) { setup in
            try setup.write("first")
            try setup.waitUntilRead()
            setup.reload(isDurable: isDurable)
            try setup.rim.waitUntilArmed()
            // The descriptor itself is closed by the kit.
            let other = try Linux.open("/dev/null").release()
            defer { FileDescriptor(owning: other).close() }
            #expect(dup2(other, setup.writer) >= 0)
            try wait(for: "it") { setup.rim.texts == ["first"] }
            #expect(setup.rim.lines.map(\.isIncomplete) == [true])
        }
    }

    /// More than is told in one turn was read when the source was held.
    @Test(arguments: Kind.allCases) private func linesThatAreHeldBackAreTold(kind: Kind) throws {
        try with(kind) { setup in
            let lines = (1...3000).map { "\($0)" }
            setup.on { _ in
                setup.rim.parts.value.safety.onEvent = { [set = setup.set] _ in set.value.hold(Setup.id) }
            }
            try setup.write(lines.map { $0 + "\n" }.joined() + "first|")
            try wait(for: "some") { !setup.rim.texts.isEmpty }
            setup.on { _ in
                #expect(setup.rim.texts.count < 3000)
                setup.rim.parts.value.safety.onEvent = nil
            }
            setup.reload()
            try setup.write("second\n")
            try wait(for: "all") { setup.rim.texts.count == 3001 }
            #expect(setup.rim.texts == lines + ["first|second"])
            #expect(setup.rim.gap == 0)
        }
    }

    @Test(arguments: Kind.allCases) private func whatNobodyGoesOnWithIsNamed(kind: Kind) throws {
        try with(kind) { setup in
            try setup.write("one\nfirst")
            try wait(for: "one") { setup.rim.texts == ["one"] }
            setup.remove()
            let what = kind == .fifo ? "its FIFO" : "a connection"
            #expect(setup.rim.warnings == ["\(what) is closed with 5 bytes that nobody has read"])
            #expect(setup.rim.gap == 1)
        }
    }

    /// The next daemon has what is in it only.
    @Test(arguments: Kind.allCases) private func whatRestsIsNamed(kind: Kind) throws {
        try with(kind) { setup in
            try setup.write("one\nfirst")
            try wait(for: "one") { setup.rim.texts == ["one"] }
            setup.on { $0.rest(Setup.id) }
            setup.rim.core.queue.sync {}
            #expect(setup.rim.warnings.count == 1)
            #expect(setup.rim.warnings.first?.contains("5 bytes") == true)
            #expect(setup.rim.gap == 1)
        }
    }
}
