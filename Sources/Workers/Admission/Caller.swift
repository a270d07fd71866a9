/// Who a call comes from, as far as the host can tell them apart: the user, or where there is none the address.
enum Caller: Hashable, Sendable {
    case user(String)
    case address(IPAddress)
}
