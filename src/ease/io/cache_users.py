"""Moved to `ease.io.versions`."""

from ease.io.versions import HUB as HUB
from ease.io.versions import USERS as USERS
from ease.io.versions import note_user as note_user
from ease.io.versions import users_of as users_of
