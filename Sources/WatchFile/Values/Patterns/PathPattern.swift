/// An absolute path with globs, as of `glob(7)`: a name that begins with a dot is matched by a dot only.
package struct PathPattern: Hashable, Sendable, CustomStringConvertible {
    package enum Component: Hashable, Sendable {
        case name([UInt8])
        case glob(PathGlob, takesHidden: Bool)
    }

    /// Never empty, but for `/`.
    package let components: [Component]
    /// As a watch file may write it.
    package let description: String

    package init(_ text: [UInt8]) throws(PathGlob.Failure) { try self.init(letters: text.map { .init(byte: $0) }) }

    init(letters: [PathGlob.Letter]) throws(PathGlob.Failure) {
        var components: [Component] = []
        var names: [String] = []
        for part in letters.indices.split(whereSeparator: { letters[$0].byte == UInt8(ascii: "/") }) {
            let name = Array(letters[part])
            if name.map(\.byte).elementsEqual(".".utf8) { continue }
            names.append(name.map(PathGlob.written).joined())
            if name.contains(where: { !$0.isEscaped && "*?[".utf8.contains($0.byte) }) {
                do throws(PathGlob.Failure) {
                    let takesHidden = name.first?.byte == UInt8(ascii: ".")
                    components.append(.glob(try PathGlob(letters: name), takesHidden: takesHidden))
                } catch {
                    throw PathGlob.Failure(reason: error.reason, index: part.lowerBound + error.index)
                }
            } else {
                components.append(.name(name.map(\.byte)))
            }
        }
        self.components = components
        description = "/" + names.joined(separator: "/")
    }

    /// Reads what `description` wrote; `nil`: it is something else.
    package init?(description: String) {
        guard let letters = PathGlob.letters(of: description) else { return nil }
        do throws(PathGlob.Failure) { try self.init(letters: letters) } catch { return nil }
    }

    package func matches(_ path: [UInt8]) -> Bool { depth(of: path) == 0 }

    /// How far a path lies below what matches; below zero: above it, where something in it may match. `nil`: neither.
    package func depth(of path: [UInt8]) -> Int? {
        let names = path.split(separator: UInt8(ascii: "/"))
        guard zip(components, names).allSatisfy({ $0.matches($1) }) else { return nil }
        return names.count - components.count
    }

    /// It has no glob.
    package var isPlain: Bool {
        components.allSatisfy { if case .name = $0 { true } else { false } }
    }

    /// The part before the first glob.
    package var base: [UInt8] {
        var base: [UInt8] = []
        for component in components {
            guard case .name(let name) = component else { break }
            base += [UInt8(ascii: "/")] + name
        }
        return base.isEmpty ? [UInt8(ascii: "/")] : base
    }
}

extension PathPattern.Component {
    package func matches(_ name: some BidirectionalCollection<UInt8>) -> Bool {
        switch self {
        case .name(let own): own.elementsEqual(name)
        case .glob(let glob, let takesHidden): (takesHidden || name.first != UInt8(ascii: ".")) && glob.matches(name)
        }
    }
}
