import Varlink

package enum EnterGroup: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case name, pid
        }

        package var name: String
        /// The process at whose end the daemon leaves by itself; `nil`: when this connection closes.
        package var pid: Int?

        package init(name: String, pid: Int? = nil) {
            self.name = name
            self.pid = pid
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        /// The ticket for `LeaveGroup`.
        package var ticket: Int

        package init(ticket: Int) { self.ticket = ticket }
    }
}
