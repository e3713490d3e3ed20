/// Parameters of `SetLogLevel`, and what `GetLogLevel` answers: the levels of `syslog(3)`, 0 to 7.
package struct LogLevel: CallParameters, Equatable {
    package enum CodingKeys: CodingKey, CaseIterable { case level }

    package var level: Int

    package init(level: Int) { self.level = level }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        level = try container.decode(Int.self, forKey: .level)
        guard (0...7).contains(level) else {
            throw DecodingError.dataCorruptedError(forKey: .level, in: container, debugDescription: "not in 0…7")
        }
    }
}
