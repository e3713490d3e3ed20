import Varlink

package enum Suspend: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: String, CodingKey, CaseIterable {
            case name, reason, until, wait
            case timeoutUsec = "timeout_usec"
        }

        /// A source or queue.
        package var name: String
        package var reason: String?
        /// When it ends by itself.
        package var until: String?
        /// The reply comes when nothing runs there any more.
        package var wait: Bool?
        /// With `wait`: how long at most; `nil`: for ever.
        package var timeoutUsec: Int?

        package init(
            name: String, reason: String? = nil, until: String? = nil, wait: Bool? = nil, timeoutUsec: Int? = nil
        ) {
            self.name = name
            self.reason = reason
            self.until = until
            self.wait = wait
            self.timeoutUsec = timeoutUsec
        }
    }

    package typealias Reply = SuspensionCount
}
