"""Language models as a flow sees them."""

from accord.models.model import (
    CallableModel,
    InstrumentedModel,
    LLMReply,
    LLMRequest,
    Message,
    Model,
)

__all__ = ["CallableModel", "InstrumentedModel", "LLMReply", "LLMRequest", "Message", "Model"]
