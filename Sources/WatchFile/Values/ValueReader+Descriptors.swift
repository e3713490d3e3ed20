import Schedule

extension ValueReader {
    /// The whole value, spaces and all.
    func pattern(_ problems: inout Problems) -> [UInt8]? {
        let bytes = Array(text.bytes)
        do throws(LinePattern.Failure) {
            _ = try LinePattern(bytes)
            return bytes
        } catch {
            problems.error("\(key.name)=\(text.shown) is not a regular expression: \(error.reason)", at: text)
            return nil
        }
    }

    /// Globs on the path of a file below what is watched.
    func globs(_ problems: inout Problems) -> [PathGlob]? {
        guard let words = Word.split(text, &problems) else { return nil }
        let globs = words.map { word -> PathGlob? in
            do throws(PathGlob.Failure) {
                let glob = try PathGlob(
                    letters: word.letters.map { .init(byte: $0.byte, isEscaped: $0.isEscaped) })
                warnOfLists(word, &problems)
                return glob
            } catch {
                refuse(word, error, &problems)
                return nil
            }
        }
        let valid = globs.compactMap(\.self)
        return valid.count == globs.count ? valid : nil
    }

    /// The name of a file, without its folder.
    func fileName(_ problems: inout Problems) -> [UInt8]? {
        guard let word = Word.whole(text, &problems) else { return nil }
        let name = word.letters.map(\.byte)
        if name.contains(UInt8(ascii: "/")) {
            refuse(&problems, "is a path: it is the name of a file that each folder may have, such as .gitignore")
        } else if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) {
            refuse(&problems, "is no name of a file")
        } else if name.count > 255 {
            refuse(&problems, "has more than 255 bytes, as no name of a file has")
        } else {
            return name
        }
        return nil
    }

    /// Warns of a pattern that is meant as several, as shells and other programs take it: `*.jpg,*.png`, `*.{jpg,png}`.
    private func warnOfLists(_ word: Word, _ problems: inout Problems) {
        let plain = word.letters.filter { !$0.isEscaped }.map(\.byte)
        guard plain.contains(UInt8(ascii: ",")) else { return }
        if plain.contains(UInt8(ascii: "{")), plain.contains(UInt8(ascii: "}")) {
            problems.warning("braces and commas are plain characters here: write each pattern by itself", at: word.text)
        } else if plain.count(where: { $0 == UInt8(ascii: "*") }) > 1 {
            problems.warning(
                "\(key.name)=\(word.text.shown) is one pattern, commas are plain characters: write a space between two",
                at: word.text)
        }
    }

    /// An absolute path with globs.
    func pathPattern(_ problems: inout Problems) -> PathPattern? {
        Word.whole(text, &problems).flatMap { pathPattern($0, &problems) }
    }

    /// Several of them.
    func paths(_ problems: inout Problems) -> [PathPattern]? {
        guard let words = Word.split(text, &problems) else { return nil }
        let paths = words.map { word -> PathPattern? in
            let parts = word.letters.indices.split { word.letters[$0].byte == UInt8(ascii: "/") }
            if let stars = parts.first(where: { $0.count == 2 && word.letters[$0].allSatisfy(\.isStar) }) {
                problems.error(
                    "** in \(key.name)= is no more than *: Recursive=yes watches all that is below",
                    at: word.source(of: stars))
                return nil
            }
            let path = pathPattern(word, &problems)
            if path != nil { word.warnAboutSpecifiers(key: key, &problems) }
            return path
        }
        let valid = paths.compactMap(\.self)
        return valid.count == paths.count ? valid : nil
    }

    private func pathPattern(_ word: Word, _ problems: inout Problems) -> PathPattern? {
        guard PathValue.normalized(word, key: key, &problems) != nil else { return nil }
        do throws(PathGlob.Failure) {
            return try PathPattern(letters: word.letters.map { .init(byte: $0.byte, isEscaped: $0.isEscaped) })
        } catch {
            refuse(word, error, &problems)
            return nil
        }
    }

    private func refuse(_ word: Word, _ failure: PathGlob.Failure, _ problems: inout Problems) {
        let isWithin = failure.index < word.letters.count
        problems.error(
            "\(key.name)=\(word.text.shown) \(failure.reason)",
            at: isWithin ? word.source(of: failure.index..<failure.index + 1) : word.text)
    }

    /// `FAMILY [GROUPS]`.
    func netlink(_ problems: inout Problems) -> NetlinkFamily? {
        let words = text.words
        guard let family = words.first, words.count <= 2 else {
            refuse(&problems, "is not FAMILY GROUPS, such as route 1361")
            return nil
        }
        let names = NetlinkFamily.numbers.keys.sorted()
        guard names.contains(family.string) else {
            refuse(
                &problems, "is not one of \(names.joined(separator: ", "))", at: family,
                suggestion: problems.nearest(to: family.string, among: names))
            return nil
        }
        guard let groups = words.count < 2 ? 0 : UInt32(words[1].string) else {
            refuse(&problems, "is not a mask of groups from 0 to 4294967295", at: words[1])
            return nil
        }
        return NetlinkFamily(name: family.string, groups: groups)
    }

    /// `memory|cpu|io some|full STALL WINDOW`.
    func pressure(_ problems: inout Problems) -> PressureLimit? {
        let words = text.words
        guard words.count == 4 else {
            refuse(&problems, "is not RESOURCE some|full STALL WINDOW, such as memory some 150ms 2s")
            return nil
        }
        let resource = choose(
            words[0], of: PressureLimit.Resource.allCases.map(\.rawValue), later: [], &problems)
        let share = choose(words[1], of: PressureLimit.Share.allCases.map(\.rawValue), later: [], &problems)
        let stall = ValueReader(key: key, text: words[2], zones: zones).span(.any, &problems)
        let window = ValueReader(key: key, text: words[3], zones: zones).span(.any, &problems)
        guard let resource = resource.flatMap(PressureLimit.Resource.init),
            let share = share.flatMap(PressureLimit.Share.init), let stall, let window
        else { return nil }
        guard (TimeSpan.milliseconds(500)...TimeSpan.seconds(10)).contains(window) else {
            refuse(&problems, "is not a window from 500ms to 10s", at: words[3])
            return nil
        }
        guard stall > .zero, stall <= window else {
            refuse(&problems, "is not a time within the window", at: words[2])
            return nil
        }
        return PressureLimit(
            resource: resource, share: share, stall: Int(stall.microseconds), window: Int(window.microseconds))
    }
}
