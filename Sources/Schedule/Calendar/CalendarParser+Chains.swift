// MARK: - Chains

extension CalendarParser {
    mutating func parseChain(isSeconds: Bool = false) throws(ParseError) -> Chain {
        var chain = Chain(isSeconds: isSeconds)
        if isAt("*") {
            position += 1
            if isSeconds {
                chain.elements = [(CalendarComponent(0, step: 1_000_000), position - 1..<position)]
            }
            return chain
        }
        while true {
            guard chain.elements.count < CalendarExpression.mostElements else { throw error(.tooManyElements) }
            let start = position
            let component = try parseElement(isSeconds)
            guard isAtEnd(or: " ,-~:") else { throw unexpected() }
            chain.elements.append((component, start..<position))
            guard isAt(",") else { return chain }
            position += 1
        }
    }

    mutating func parseElement(_ isSeconds: Bool) throws(ParseError) -> CalendarComponent {
        let begin = position
        var component = CalendarComponent(try parseNumber(isSeconds))
        if isAt("."), isAt(".", 1) {
            position += 2
            component.stop = try parseNumber(isSeconds)
            component.step = isSeconds ? 1_000_000 : 1
        }
        if isAt("/") {
            let start = position
            position += 1
            component.step = try parseNumber(isSeconds)
            if component.step == 0 { throw error(.stepIsZero, start..<position) }
        } else if isSeconds, let stop = component.stop, component.start + component.step > stop {
            // Even `5..5`: without a step it goes on by whole seconds, and not one fits.
            throw error(.backwardsRange, begin..<position)
        }
        return component
    }

    mutating func parseNumber(_ isSeconds: Bool) throws(ParseError) -> Int {
        let start = position
        var value = 0
        while let byte = peek(), byte.isDigit {
            value = min(value * 10 + Int(byte - UInt8(ascii: "0")), 1 << 32)
            position += 1
        }
        guard position > start else { throw expectedNumber() }
        if isSeconds { value *= 1_000_000 }
        // The type that systemd keeps it in.
        guard value <= Int32.max else { throw error(.tooLarge, start..<position) }
        guard isSeconds else { return value }
        if isAt("."), !isAt(".", 1) {
            position += 1
            guard let fraction = parseFraction() else { throw error(.notANumber) }
            value += fraction
        }
        return value
    }

    /// In microseconds, rounded; the position is behind all digits.
    mutating func parseFraction() -> Int? {
        let start = position
        while peek()?.isDigit ?? false { position += 1 }
        let digits = bytes[start..<position].map { Int($0 - UInt8(ascii: "0")) }
        guard !digits.isEmpty else { return nil }
        let value = (0..<6).reduce(0) { $0 * 10 + ($1 < digits.count ? digits[$1] : 0) }
        return value + (digits.count > 6 && digits[6] >= 5 ? 1 : 0)
    }

    /// The elements of a chain, if the field has such values.
    func components(_ chain: Chain, _ field: ParseError.Field) throws(ParseError) -> [CalendarComponent] {
        var components: [CalendarComponent] = []
        for (component, range) in chain.elements {
            var component = component
            if field == .year {
                component.start = Self.fullYear(component.start)
                component.stop = component.stop.map(Self.fullYear)
            }
            component = component.normalized
            try check(component, field, field.values, range)
            components.append(component)
        }
        guard field == .dayFromEnd else { return components }
        // For systemd each element of such a list ends three days before the one before it does.
        for (index, component) in components.normalized.enumerated() {
            let last = field.values.upperBound - 3 * index
            let place = components.firstIndex(of: component) ?? 0
            guard last >= 1 else { throw error(.tooManyElements, chain.elements[place].range) }
            do throws(ParseError) {
                try check(component, field, 1...last, chain.elements[place].range)
            } catch {
                throw ParseError(.tooFarFromEnd(last), error.range)
            }
        }
        return components
    }

    func check(
        _ component: CalendarComponent, _ field: ParseError.Field, _ values: ClosedRange<Int>, _ range: Range<Int>
    ) throws(ParseError) {
        guard values.contains(component.start), values.contains(component.stop ?? component.start) else {
            throw error(.outOfRange(field), range)
        }
        if let stop = component.stop {
            guard component.start + component.step <= stop else { throw error(.backwardsRange, range) }
        } else {
            let isTooFar =
                field == .dayFromEnd
                ? component.start - component.step < values.lowerBound
                : component.start + component.step > values.upperBound
            guard !isTooFar, component.step <= values.upperBound - values.lowerBound else {
                throw error(.stepTooLarge(field), range)
            }
        }
    }

    /// `26` is 2026, `89` is 1989.
    static func fullYear(_ year: Int) -> Int {
        switch year {
        case 0..<70: year + 2000
        case 70..<100: year + 1900
        default: year
        }
    }
}
