/// What of a request's body is still to come.
enum IncomingBody {
    case none
    case counted(Int64)
    case chunked(HTTP1ChunkDecoder)
}
